"""The agent `remote`."""
