"""Scripted agents: expert, servo, idle, random."""
