"""The fixture that a recorded run proposes, as people write it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject, Value, canonical_json
from gateval.domain.manifests.fixtures.messages import text_of
from gateval.domain.promotion.recorded import NoRun, Recorded, RecordedCall
from gateval.domain.promotion.telling import telling_part
from gateval.domain.trials.tools import SHADOW

_WORDS = 6
"""Words of what the user says in a fixture's name."""

_NAME = 60

_SPELLING = re.compile(r"[\s'\"\\]")
"""What programs write differently in the same value."""

_SHADOW = _SPELLING.sub("", SHADOW)


class PromotionTarget(Value):
    """The Agent that a fixture is for. `offered` are its tools, None where nobody knows them.

    `replayed` are those that the gate answers for, None for all.
    """

    agent: str
    offered: tuple[str, ...] | None = None
    replayed: tuple[str, ...] | None = ()


class Promoter(Value):
    """Who promotes it, and when (ISO 8601 in UTC); empty where that is not known."""

    by: str = ""
    at: str = ""


def propose(
    run: Recorded, target: PromotionTarget, origin: Promoter, taken: Collection[str]
) -> JsonObject:
    """Return the document of an EvalFixture; no name in `taken` is used again.

    It asks for the tools that the run called, and for what its answer states; what the tools
    answered is replayed. What the agent should have done instead, a person has to write: a run that
    failed has no assertions. Raises `NoRun` where there is nothing to ask for.
    """
    calls = [one for one in run.calls if target.offered is None or one.tool in target.offered]
    assertions = [*_assertions(run, calls)]
    if not assertions:
        raise NoRun("it has neither an answer nor a call of a tool of that Agent")
    spec: JsonObject = {
        "targetAgent": target.agent,
        "kind": "bad" if run.failed else "golden",
        "origin": _origin(run, origin),
    }
    given = run.input.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if not run.turns or len(given) > 1:
        spec["input"] = given
    if run.turns:
        spec["turns"] = [{"user": said} for said in run.turns]
    spec["assertions"] = [] if run.failed else assertions
    replayed = [c for c in calls if target.replayed is None or c.tool in target.replayed]
    if replay := [*_replay(replayed)]:
        spec["toolReplay"] = replay
    return {
        "apiVersion": "gateval/v1",
        "kind": "EvalFixture",
        "metadata": {"name": _name(run, target, taken), "labels": {"agent": target.agent}},
        "spec": {key: value for key, value in spec.items() if value != {}},
    }


def is_unfinished(document: JsonObject) -> bool:
    """Whether a person has to write what the fixture asks for."""
    spec = document["spec"]
    return isinstance(spec, dict) and not spec["assertions"]


def _assertions(run: Recorded, calls: Sequence[RecordedCall]) -> Iterator[JsonValue]:
    for tool in dict.fromkeys(call.tool for call in calls):
        yield {"type": "toolCalled", "tool": tool}
    if part := telling_part(run.output, _sources(run)):
        yield {"type": "contains", "value": part}


def _sources(run: Recorded) -> Iterator[str]:
    """What came in, and what tools answered, as text."""
    yield run.input.prompt
    yield from run.turns
    for message in run.input.messages:
        yield text_of(message.content)
    for call in run.calls:
        yield call.result if isinstance(call.result, str) else canonical_json(call.result)


def _replay(calls: Sequence[RecordedCall]) -> Iterator[JsonValue]:
    """What the tools answered, but not what the gate answered for them. Arguments tell calls apart
    where a tool was called differently.
    """
    answered = [one for one in calls if one.answered and not _is_shadow(one)]
    asked: dict[str, set[str]] = {}
    for call in calls:
        asked.setdefault(call.tool, set()).add(canonical_json(call.arguments))
    for call in answered:
        entry: JsonObject = {"tool": call.tool}
        if len(asked[call.tool]) > 1:
            entry["arguments"] = call.arguments
        entry |= {"result": call.result} if call.error is None else {"error": call.error}
        yield entry


def _is_shadow(call: RecordedCall) -> bool:
    """Whether the gate answered, however the program wrote that down: spread over lines, as Python
    prints it, as JSON in JSON, as a part of a message.
    """
    told = call.result if isinstance(call.result, str) else canonical_json(call.result)
    plain = _SPELLING.sub("", told).lower()
    part = rf"\[?\{{type:text,text:{re.escape(_SHADOW)}\}}\]?"
    return plain == _SHADOW or re.fullmatch(part, plain) is not None


def _origin(run: Recorded, origin: Promoter) -> JsonValue:
    said = {
        "traceId": run.trace_id,
        "side": run.side,
        "promotedAt": origin.at,
        "promotedBy": origin.by,
    }
    return {key: text for key, text in said.items() if text}


def _name(run: Recorded, target: PromotionTarget, taken: Collection[str]) -> str:
    said = run.turns[0] if run.turns else run.input.prompt
    plain = unicodedata.normalize("NFKD", said).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)[:_WORDS]
    name = "-".join([target.agent, *words])[:_NAME].strip("-.")
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
