"""SQLite databases of playgrounds, made and asked by programs behind walls.

A script may attach any file, and a file that a candidate wrote may be made to break the library:
neither is for the process that holds the keys.
"""

from __future__ import annotations

MAKE = """\
import sqlite3, sys
base = sqlite3.connect(sys.argv[1])
base.executescript(sys.stdin.buffer.read().decode("utf-8-sig"))
base.commit()
base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
base.close()
"""
"""Makes the database that its argument names of the statements on its standard input."""

ASK = """\
import json, sqlite3, sys
path, most = sys.argv[1], int(sys.argv[2])
def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return str(value)
    return value
said = {}
try:
    base = sqlite3.connect(path)
    base.text_factory = lambda data: data.decode("utf-8", "replace")
    base.execute("PRAGMA trusted_schema = OFF")
    base.execute("PRAGMA query_only = ON")
    found = base.execute(sys.stdin.buffer.read().decode("utf-8"))
    rows = found.fetchmany(most + 1)
    said = {"columns": [one[0] for one in found.description or ()],
            "rows": [[plain(value) for value in row] for row in rows[:most]],
            "more": len(rows) > most}
except sqlite3.Error as error:
    said = {"error": str(error), "kind": type(error).__name__}
except sqlite3.Warning as error:
    said = {"error": str(error), "kind": "Warning"}
print(json.dumps(said))
"""
"""Asks the query on its standard input of the database that its first argument names, and prints
one JSON object: columns, so many rows at most, whether there are more; or the error and its kind.
"""

PYTHON = ("python3", "-I", "-S", "-c")
"""How both are started: by the Python that own checks have."""
