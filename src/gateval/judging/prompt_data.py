"""The data of a trial in the judge's prompt: input and steps as JSON, cut to a total size.

One line per step, so that a person can read a logged prompt. When the texts together are too big,
the longest are cut, each to the same size, so that a flood in one step cannot push out the others;
a cut text keeps its beginning and its end, and says where and how much was cut.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.trace import Step, Trace
from gateval.domain.trials.transcript import final_step
from gateval.judging.neutral import neutral_json

_TOOL_NAME_LIMIT = 200

_LEAST = 40
"""Characters of a text that are shown however many steps there are."""


def exhibit(fixture_input: FixtureInput, transcript: Trace, limit: int) -> str:
    """Return one JSON object: `input`, `final_message_step`, and `steps` numbered from 1.

    `limit` bounds the characters of all texts and arguments together, as shown; the frame around
    them (about 60 characters a step) and the marks of cuts are not counted. `characters_cut` in a
    step counts what was left out of it. `conversation` stands in steps where there were several.
    """
    payload: JsonValue = fixture_input.payload
    messages: JsonValue = [message.as_json() for message in fixture_input.messages]
    bodies = [_body(step) for step in transcript.steps]
    sizes = [len(neutral_json(body)) for body in (payload, messages, *bodies)]
    cap = max(fair_share(sizes, limit), _LEAST)
    whole = [size <= cap for size in sizes]
    shown_input: JsonObject = {"type": fixture_input.type}
    shown_input |= _fitted("payload", payload, cap, whole=whole[0])
    if messages:
        shown_input |= _fitted("messages", messages, cap, whole=whole[1])
    final = final_step(transcript)
    head = [
        f'"input":{neutral_json(shown_input)},',
        f'"final_message_step":{neutral_json(final.number if final else None)},',
    ]
    parallel = transcript.is_parallel
    lines = [
        neutral_json(
            _described(step, parallel=parallel) | _fitted(_key(step), body, cap, whole=fits)
        )
        for step, body, fits in zip(transcript.steps, bodies, whole[2:], strict=True)
    ]
    return "\n".join(["{", *head, '"steps":[', ",\n".join(lines), "]", "}"])


def fair_share(sizes: Sequence[int], total: int) -> int:
    """Return the size to cut the bigger ones to, so that all together are at most `total`."""
    left, cap = total, 0
    ascending = sorted(sizes)
    for position, size in enumerate(ascending):
        cap = left // (len(ascending) - position)
        if size > cap:
            return cap
        left -= size
    return cap


def _body(step: Step) -> JsonValue:
    return step.text if step.arguments is None else step.arguments


def _key(step: Step) -> str:
    return "text" if step.arguments is None else "arguments"


def _described(step: Step, *, parallel: bool) -> JsonObject:
    shown: JsonObject = {"step": step.number, "kind": step.kind}
    if parallel:
        shown["conversation"] = step.conversation
    if step.tool is not None:
        shown["tool"] = step.tool[:_TOOL_NAME_LIMIT]
    if step.refused:
        shown["refused"] = True
    if step.truncated:
        shown["recorded_in_part"] = True
    return shown


def _fitted(key: str, value: JsonValue, cap: int, *, whole: bool) -> JsonObject:
    """Return `{key: value}`, or the value's text cut to `cap` characters as shown."""
    if whole:
        return {key: value}
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    head = _beginning(text, cap * 2 // 3)
    tail = _beginning(text[len(head) :][::-1], cap // 3)[::-1]
    cut = len(text) - len(head) - len(tail)
    return {key: f"{head} [… {cut} characters cut …] {tail}", "characters_cut": cut}


def _beginning(text: str, cap: int) -> str:
    """Return as much of the beginning as takes at most `cap` characters when shown."""
    kept = text[:cap]
    while kept and (size := len(neutral_json(kept)) - 2) > cap:
        kept = kept[: len(kept) * cap // size]
    return kept
