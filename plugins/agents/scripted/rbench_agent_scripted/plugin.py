"""Hooks of rbench-agent-scripted."""
