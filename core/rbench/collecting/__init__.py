"""Demonstrations: runs of a scripted agent, turned into the files that trainers read."""
