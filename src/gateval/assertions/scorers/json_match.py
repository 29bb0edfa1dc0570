"""`jsonMatch`: how much of the expected JSON the final message holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar

from pydantic import JsonValue

from gateval.assertions.evidence import Evidence
from gateval.assertions.matching.final_message import NoText, json_at
from gateval.assertions.matching.json_match import json_equal
from gateval.assertions.scorers.base import Scorer
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Assessment
from gateval.judging.neutral import shorten

Leaf = tuple[tuple[str | int, ...], JsonValue]


class JsonMatch(Scorer):
    """The leaves that are equal in the agent's final message and the expected JSON, over all leaves
    of both.

    A leaf is a value that is no list and no mapping, or an empty one, at its path; places in lists
    count. 1 equals 1.0, but neither "1" nor true. A message that is no JSON scores 0. An expected
    answer that is text is read as JSON, as a column of CSV is. In an experiment this is the scorer
    `json`.
    """

    type: ClassVar[str] = "jsonMatch"

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        wanted = _read(expected)
        asked = f"{shorten(json.dumps(wanted, ensure_ascii=False))} as the final message"
        try:
            said = json_at(evidence, None)
        except NoText as absent:
            return self.absent(expected=asked, saw=str(absent), steps=evidence.final)
        ours, theirs = dict(leaves(said)), dict(leaves(wanted))
        equal = [
            path for path in ours.keys() & theirs.keys() if json_equal(theirs[path], ours[path])
        ]
        every = len(ours.keys() | theirs.keys())
        return self.graded(
            len(equal) / every,
            least=self.min_score,
            expected=asked,
            saw=f"{len(equal):,} of {every:,} values equal",
            steps=evidence.final,
        )


def leaves(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """Yield the leaves of a JSON value with their paths."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def _read(expected: JsonValue) -> JsonValue:
    if not isinstance(expected, str):
        return expected
    try:
        return read_json(expected)
    except NotStrictJson:
        return expected
