"""Conformance kit for plugins."""
