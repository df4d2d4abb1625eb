"""Hooks of rbench-factor-context."""
