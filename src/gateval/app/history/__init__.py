"""The commands that look back: `get`, `history`, `compare`, `flaky`, `due`, `show`."""
