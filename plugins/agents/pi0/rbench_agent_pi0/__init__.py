"""The agent `pi0`."""
