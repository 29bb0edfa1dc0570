"""Adds a line to a file of what people said of answers: the other direction of `golden_set.py`."""

from __future__ import annotations

import csv
import io
import json

from gateval.domain.base import JsonObject, json_text
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.paths import resolve_path, show_path
from gateval.domain.strict_json import object_of, value_at
from gateval.domain.text import listing
from gateval.errors import UsageError
from gateval.formats.native.golden_set import FEEDBACK_KEYS
from gateval.formats.yaml_reader import read_documents

_OPTIONAL = frozenset({"who", "when"})
"""What a table may have no column for."""


def feedback_file(evaluation: Eval, data: bytes) -> str:
    """Return the path of the file that an Experiment's manifest names for what people say, empty if
    it names none. `data` is the file in which the manifest stands.
    """
    documents, _ = read_documents(evaluation.path, data)
    for one in documents:
        body = object_of(one.data)
        meta, spec = body.get("metadata"), body.get("spec")
        named = isinstance(meta, dict) and meta.get("name") == evaluation.name
        if body.get("kind") == "Experiment" and named and isinstance(spec, dict):
            file = value_at(spec, "feedback", "file")
            folder = evaluation.path.rpartition("/")[0]
            return resolve_path(folder, file) or "" if isinstance(file, str) else ""
    return ""


def feedback_line(fixture: Fixture, *, up: bool, output: str, note: str) -> JsonObject:
    """Return what somebody says of an answer to a row, which its `id` names, or else its input."""
    case = fixture.reference.case if fixture.reference else ""
    payload = fixture.input.payload
    plain = payload.get("prompt") if payload.keys() == {"prompt"} else None
    row: JsonObject = {"id": case} if case else {"input": payload if plain is None else plain}
    return {**row, "output": output, "thumbs": "up" if up else "down", "note": note}


def with_feedback(path: str, data: bytes, line: JsonObject) -> bytes:
    """Return the file with a line more, its last. Raises `UsageError` for a table without a column
    for it.
    """
    text = data.decode("utf-8-sig")
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = data if not text or text.endswith("\n") else data + newline.encode()
    if path.endswith(".jsonl"):
        return whole + (json.dumps(line, ensure_ascii=False) + newline).encode()
    columns = next(csv.reader(io.StringIO(text, newline="")), [])
    if not columns:
        columns = [key for key in FEEDBACK_KEYS if key in line]
        whole += (",".join(columns) + newline).encode()
    if "thumbs" not in columns and "score" in columns:
        line = {("score" if key == "thumbs" else key): one for key, one in line.items()}
        line["score"] = "1" if line["score"] == "up" else "0"
    if lacking := [key for key in line if key not in columns and key not in _OPTIONAL]:
        raise UsageError(
            f"{show_path(path)} has no column for {listing(lacking, 5)}.",
            hint="Add it to the first line of the file; a label says these.",
        )
    written = io.StringIO(newline="")
    cells = [line.get(key, "") for key in columns]
    told = [json_text(one) for one in cells]
    csv.writer(written, lineterminator=newline).writerow(told)
    return whole + written.getvalue().encode()
