"""Scripted agents: expert, idle, random."""
