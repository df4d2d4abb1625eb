"""The vision port: questions, answer parsing, backends."""
