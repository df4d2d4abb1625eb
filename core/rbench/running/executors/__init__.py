"""Executors: where and in what order episodes run; all give the same records."""
