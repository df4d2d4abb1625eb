"""Hooks of rbench-factor-viewpoint."""
