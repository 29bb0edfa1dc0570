"""What runs leave in their folders, as texts: segments are unpacked, and a trial is a line again."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from gateval.adapters.run_notes import BEGUN_FILE
from gateval.adapters.store import STORE_FOLDER, stored_trials

OLD_LOG = "trials.jsonl"


def content(file: Path) -> bytes:
    """The content of a file; of a segment its lines, as far as they are there."""
    data, lines = file.read_bytes(), b""
    if file.suffixes != [".jsonl", ".gz"]:
        return data
    while data:
        unpacker = zlib.decompressobj(31)
        lines += unpacker.decompress(data)
        data = unpacker.unused_data
    return lines


def trials(folder: Path) -> list[dict[str, Any]]:
    """The trials in the folder of a run, in the order they were stored."""
    if not (folder / STORE_FOLDER).exists():
        return []
    return [one.model_dump(mode="json") for one in stored_trials(folder, OLD_LOG)]


def log(folder: Path) -> str:
    """The same as the one log of earlier versions: a trial a line."""
    return "".join(f"{one.model_dump_json()}\n" for one in stored_trials(folder, OLD_LOG))


def written(folder: Path) -> dict[str, str]:
    """Every file in the folder of a run by its name, the store as the one log of old."""
    found = {one.name: one.read_text("utf-8") for one in folder.iterdir() if one.is_file()}
    return found | ({OLD_LOG: log(folder)} if (folder / STORE_FOLDER).is_dir() else {})


def make_old(folder: Path, lines: str | None = None) -> Path:
    """Put the one log in the place of the store, as an earlier version left it; return it."""
    (folder / OLD_LOG).write_text(log(folder) if lines is None else lines, "utf-8")
    for one in (folder / STORE_FOLDER).iterdir():
        one.unlink()
    (folder / STORE_FOLDER).rmdir()
    return folder / OLD_LOG


def begun(folder: Path) -> list[Any]:
    """The trials that a killed run had begun."""
    file = folder / BEGUN_FILE
    return [json.loads(one) for one in file.read_text().splitlines()] if file.exists() else []
