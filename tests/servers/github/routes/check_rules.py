"""What GitHub refuses in a check run, part of which its description does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.servers.github.http import ApiError

MOST_ANNOTATIONS = 50
MOST_TEXT = 65_535
MOST_MESSAGE = 65_536
"""Bytes of an annotation's message, and of its raw details."""
MOST_TITLE = 255


def refuse_bad_check(body: Mapping[str, Any]) -> None:
    """Raise GitHub's 422 for a body it would not take."""
    if body.get("status") == "completed" and "conclusion" not in body:
        raise _refusal('"conclusion" wasn\'t supplied.')
    output = body.get("output") or {}
    for key in ("summary", "text"):
        length = len(output.get(key) or "")
        if length > MOST_TEXT:
            raise _refusal(f"Only {MOST_TEXT} characters are allowed; {length} were supplied.")
    annotations = output.get("annotations") or []
    if len(annotations) > MOST_ANNOTATIONS:
        raise _refusal(
            f"No more than {MOST_ANNOTATIONS} items are allowed; {len(annotations)} were supplied."
        )
    for each in annotations:
        _refuse_bad_annotation(each)


def _refuse_bad_annotation(annotation: Mapping[str, Any]) -> None:
    start, end = annotation["start_line"], annotation["end_line"]
    columns = [annotation.get("start_column"), annotation.get("end_column")]
    if end < start:
        raise _refusal("end_line must not come before start_line.")
    if start != end and any(column is not None for column in columns):
        raise _refusal("start_column and end_column need start_line and end_line to be the same.")
    if len(annotation.get("title") or "") > MOST_TITLE:
        raise _refusal(f"Only {MOST_TITLE} characters are allowed in an annotation's title.")
    for key in ("message", "raw_details"):
        if len((annotation.get(key) or "").encode()) > MOST_MESSAGE:
            raise _refusal(f"An annotation's {key} may have 64 KB.")
    if not annotation["path"] or not annotation["message"]:
        raise _refusal("An annotation needs a path and a message.")


def _refusal(why: str) -> ApiError:
    return ApiError(422, f"Invalid request.\n\n{why}")
