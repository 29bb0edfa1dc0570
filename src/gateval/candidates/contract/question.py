"""The candidate contract: what a candidate is asked, and how its answer is read. Pure.

Asked: `{"version": 1, "input": {"type", "payload"}, "prompt"}`, in a conversation with `messages`,
which end with what the user says now; and nothing that would tell which
fixture it is or what is expected.

Answered: if all that was printed is one JSON object that has the key `output`, it is read as
`{output, trace?, usage?, version?}`; any other key in it is an error, and so is what JSON readers
would read differently (a repeated key, for one). Everything else is plain text, and the whole text,
without white space at both ends, is the output.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from gateval.candidates.contract.claims import ClaimError, read_steps, read_usage
from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.text.quoting import is_blank
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, Claimed
from gateval.wire.json_text import write_json

CONTRACT_VERSION = 1

KEYS = ("output", "trace", "usage", "version")


@dataclass(frozen=True)
class ProgramAnswer:
    """The answer of a candidate: its output, never blank, and its claims about the way there."""

    output: str
    trace: Trace | None = None
    usage: Usage = field(default_factory=Usage)
    claimed: Claimed = field(default_factory=Claimed)


def question(asked: FixtureInput) -> JsonObject:
    """Return what a candidate is told of a fixture."""
    told: JsonObject = {
        "version": CONTRACT_VERSION,
        "input": {"type": asked.type.value, "payload": asked.payload},
        "prompt": asked.prompt,
    }
    if asked.messages:
        told["messages"] = [message.as_json() for message in asked.messages]
    return told


def template_values(asked: FixtureInput, playground: str = "") -> JsonObject:
    """Return what templates can name: the question, `messages` in any case, and the path of the
    trial's playground if it has one.
    """
    alone: list[JsonValue] = [{"role": "user", "content": asked.prompt}]
    at: JsonObject = {"playground": playground} if playground else {}
    return {"messages": alone, **at, **question(asked)}


def write_question(asked: FixtureInput) -> bytes:
    """Return the question as one line of UTF-8 JSON."""
    return write_json(question(asked)) + b"\n"


def read_answer(printed: bytes) -> ProgramAnswer:
    """Read what a candidate printed; bytes that are no UTF-8 become U+FFFD. Raises `ClaimError`."""
    text = printed.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    if is_blank(text):
        raise ClaimError("it is empty")
    document = object_in(text, {"output"})
    return ProgramAnswer(output=text) if document is None else _read_document(document)


def object_in(text: str, keys: AbstractSet[str]) -> JsonObject | None:
    """Return the JSON object that a text is, if it has one of these keys; None for plain text.

    Raises `ClaimError` for one that JSON readers would read differently.
    """
    if not text.startswith("{"):
        return None
    try:
        loose = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(loose, dict) or not loose.keys() & keys:
        return None
    try:
        strict = read_json(text)
    except NotStrictJson as error:
        raise ClaimError(f"it is ambiguous JSON: {error}")
    return cast("JsonObject", strict)


def _read_document(document: JsonObject) -> ProgramAnswer:
    for key in document:
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise ClaimError(f"it has the unknown key `{key[:80]}`; known are {known}")
    if document.get("version", CONTRACT_VERSION) != CONTRACT_VERSION:
        raise ClaimError(f"`version` is not {CONTRACT_VERSION}")
    trace, usage = document.get("trace"), document.get("usage")
    return claimed_answer(document["output"], "`output`", trace, usage)


def claimed_answer(
    output: JsonValue, what: str, trace: JsonValue, usage: JsonValue
) -> ProgramAnswer:
    """Return an answer with its claims, each None where nothing is claimed.

    `what` names the output in a sentence. Raises `ClaimError`.
    """
    claimed = Usage() if usage is None else read_usage(usage)
    said = said_output(output, what)
    if trace is None:
        return ProgramAnswer(said, usage=claimed)
    steps = read_steps(trace).steps()
    return ProgramAnswer(said, Trace(steps=steps, source="candidate", usage=claimed), claimed)


def said_output(output: JsonValue, what: str) -> str:
    """Return a claimed output as text; what is no text becomes canonical JSON.

    `what` names it in a sentence. Raises `ClaimError` for one that is blank.
    """
    text = output if isinstance(output, str) else canonical_json(output)
    if output is None or is_blank(text):
        raise ClaimError(f"{what} is empty")
    return text


def answer_from(said: ProgramAnswer, recorded: Trace | None, seconds: float) -> Answer:
    """Return the answer; the gateway's trace wins over the candidate's claims."""
    trace, usage = said.trace, said.usage
    if recorded is not None:
        trace, usage = recorded, recorded.usage
    return Answer(
        output=said.output, trace=trace, usage=usage, seconds=seconds, claimed=said.claimed
    )
