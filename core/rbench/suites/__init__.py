"""Suites as data: schema, contexts, task subspaces, scenes."""
