"""Hooks of rbench-factor-appearance."""
