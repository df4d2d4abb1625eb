"""Results: SQLite store, run directory, provenance, export."""
