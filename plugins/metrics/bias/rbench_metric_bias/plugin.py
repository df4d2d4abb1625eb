"""Hooks of rbench-metric-bias."""
