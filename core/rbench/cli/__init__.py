"""Command line: one command a file, loaded when called."""
