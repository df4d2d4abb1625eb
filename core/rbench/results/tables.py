"""The tables of an episode store, and what becomes of older and newer ones.

Schema 1 had no checksums. Such a file is read as it is; the next writer adds the columns and leaves them empty for
what is there, so nothing is copied.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from rbench.errors import StartError, UsageError

SCHEMA = 2
#: Marks the file as ours: "rbch" in ASCII.
APPLICATION_ID = 0x72626368

# Trajectories have a table of their own, so that walking over records never touches their pages.
# Positions are never used twice, so that a reader who pages by position misses no replaced episode.
# SQLite has no checksums of its own: a flipped bit in a number would go unnoticed.
_TABLES = """
CREATE TABLE episodes (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,
    episode   TEXT NOT NULL UNIQUE,
    instance  TEXT NOT NULL,
    repeat    INTEGER NOT NULL,
    dimension TEXT NOT NULL,
    context   TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    record    TEXT NOT NULL,
    crc       INTEGER
);
CREATE TABLE trajectories (
    position   INTEGER PRIMARY KEY REFERENCES episodes (position),
    trajectory BLOB NOT NULL,
    crc        INTEGER
);
CREATE INDEX episodes_by_dimension ON episodes (dimension, outcome);
"""

_CHECKSUMS_ADDED = """
ALTER TABLE episodes ADD COLUMN crc INTEGER;
ALTER TABLE trajectories ADD COLUMN crc INTEGER;
"""


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, all or none: until then the file is blank, or is once its journal is played."""
    marks = f"PRAGMA application_id = {APPLICATION_ID};PRAGMA user_version = {SCHEMA};"
    connection.executescript(f"BEGIN IMMEDIATE;{_TABLES}{marks}COMMIT;")


def recognised_schema(path: Path, connection: sqlite3.Connection) -> int:
    """The schema of a file.

    Raises:
        UsageError: it is not an episode store. StartError: its schema is newer than this rbench knows.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or schema < 1:
        raise UsageError(f"{path} is not an episode store; give a run directory that rbench run has written")
    if schema > SCHEMA:
        raise StartError(
            f"{path} was written by a newer rbench (store schema {schema}; this one reads up to {SCHEMA});"
            " upgrade it: pip install -U rbench"
        )
    return int(schema)


def upgrade(connection: sqlite3.Connection, schema: int) -> None:
    """Bring the tables of an older schema to this one, all or none."""
    if schema < SCHEMA:
        connection.executescript(f"BEGIN IMMEDIATE;{_CHECKSUMS_ADDED}PRAGMA user_version = {SCHEMA};COMMIT;")
