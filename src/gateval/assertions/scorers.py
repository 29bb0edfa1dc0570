"""Scorers of experiments: how near the answer is to the expected one, or what it took."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field, JsonValue

from gateval.assertions.base import EvidenceAssertion, MinScore
from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.assertions.limits import Cost, Latency
from gateval.assertions.matching import (
    TEXT_LIMIT,
    NoText,
    exact,
    json_at,
    json_equal,
    levenshtein,
    matches,
    message,
    only_number,
    quoted,
)
from gateval.assertions.text import Equals, Numeric, holds
from gateval.domain.base import JsonObject, json_text
from gateval.domain.manifests.fixture import Reference
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment, Cause
from gateval.safe.legible import shorten


class Scorer(EvidenceAssertion, ABC):
    """An assertion with a score in [0, 1], which compares with the expected answer of the case."""

    min_score: MinScore = 1.0

    def wants(self, reference: Reference) -> str:
        """Say in a sentence what it lacks to score a case; empty for nothing."""
        if reference.wanted is None:
            return f"`{self.type}` compares with the expected answer, and there is none."
        return ""

    def assess(self, evidence: Evidence) -> Assessment:
        """Score the answer. Raises `CannotEvaluate` where the case says not what it needs."""
        if lack := self.wants(evidence.reference):
            raise CannotEvaluate(Cause.GATE, lack.rstrip("."))
        return self.score(evidence.reference.wanted, evidence)

    @abstractmethod
    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """Return the assessment of the answer against what is expected."""


class ContainsExpected(Scorer):
    """The share of the expected texts that stand in the agent's final message, letter by letter.

    The expected answer is one text, or a list of them; what is no text is looked for as JSON. In an
    experiment this is the scorer `contains`.
    """

    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def wants(self, reference: Reference) -> str:
        """See `Scorer`. Nothing, or an empty list, can be looked for nowhere."""
        parts = reference.wanted if isinstance(reference.wanted, list) else [reference.wanted]
        if not parts or "" in parts:
            return (
                f"`{self.type}` looks for the expected answer, and that, or a part of it, is empty."
            )
        return super().wants(reference)

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        listed = expected if isinstance(expected, list) else [expected]
        parts = [json_text(one) for one in listed]
        said = message(evidence)
        lacking = [one for one in parts if not holds(said, one, ignore_case=self.ignore_case)]
        shown = ", ".join(map(quoted, (lacking or parts)[:5]))
        return self.graded(
            1 - len(lacking) / len(parts),
            least=self.min_score,
            expected=f"{shown} in the final message",
            saw=quoted(said),
            steps=evidence.final,
        )


class CostScore(Cost):
    """1 if the candidate kept within the limits of `cost`; else the limit over what it took, of
    the limit that it passed by most. In an experiment this is the scorer `cost`.
    """

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class and `Cost`."""
        found = super().assess(evidence)
        (tokens, _), (spent, _) = evidence.tokens, evidence.money
        pairs = [(self.max_tokens, tokens), (self.max_usd, spent)]
        shares = [most / took for most, took in pairs if most is not None and took]
        return found.replace(score=min([1.0, *shares]))


class ExactMatch(Scorer):
    """1 if the agent's final message is the expected answer, else 0.

    A text is compared letter by letter, white space around it ignored; any other expected answer is
    compared with the message read as JSON, as `equals` does.
    """

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        found = Equals(value=expected).assess(evidence)
        return found.replace(type=self.type)


Leaf = tuple[tuple[str | int, ...], JsonValue]


class JsonMatch(Scorer):
    """The leaves that are equal in the agent's final message and the expected JSON, over all leaves
    of both.

    A leaf is a value that is no list and no mapping, or an empty one, at its path; places in lists
    count. 1 equals 1.0, but neither "1" nor true. A message that is no JSON scores 0. An expected
    answer that is text is read as JSON, as a column of CSV is. In an experiment this is the scorer
    `json`.
    """

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        wanted = _read(expected)
        asked = f"{shorten(json.dumps(wanted, ensure_ascii=False))} as the final message"
        try:
            said = json_at(evidence, None)
        except NoText as absent:
            return self.absent(expected=asked, saw=str(absent), steps=evidence.final)
        ours, theirs = dict(leaves(said)), dict(leaves(wanted))
        both, every = ours.keys() & theirs.keys(), len(ours.keys() | theirs.keys())
        equal = sum(json_equal(theirs[path], ours[path]) for path in both)
        saw, least = f"{equal:,} of {every:,} values equal", self.min_score
        return self.graded(
            equal / every, least=least, expected=asked, saw=saw, steps=evidence.final
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


def _read(value: JsonValue) -> JsonValue:
    """Read text that is JSON, as a column of CSV or OpenAI's arguments are."""
    try:
        return read_json(value) if isinstance(value, str) else value
    except NotStrictJson:
        return value


class LatencyScore(Latency):
    """1 if the candidate answered within `maxSeconds`, counted as `latency` does; else `maxSeconds`
    over the seconds that it took. In an experiment this is the scorer `latency`.
    """

    max_seconds: float = Field(gt=0, description="The longest time that scores 1, in seconds.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class and `Latency`."""
        found = super().assess(evidence)
        own = evidence.own_seconds
        score = min(1.0, self.max_seconds / own) if own else 1.0
        return found.replace(score=score)


class Levenshtein(Scorer):
    """1 minus the edits between the agent's final message and the expected answer, over the length
    of the longer. Insertions, deletions and substitutions cost 1 each; white space around the texts
    is ignored, and two empty texts are alike. It is `similar` with a score for every case.
    """

    ignore_case: bool = Field(default=False, description="Whether upper and lower case are alike.")

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        del expected  # its text is compared
        texts = [message(evidence).strip(), evidence.reference.text.strip()]
        if max(map(len, texts)) > TEXT_LIMIT:
            what = f"`{self.type}` compares at most {TEXT_LIMIT:,} characters"
            raise CannotEvaluate(Cause.GATE, what)
        said, wanted = (one.casefold() for one in texts) if self.ignore_case else texts
        likeness = levenshtein(said, wanted)
        return self.graded(
            likeness,
            least=self.min_score,
            expected=f"a message like {quoted(texts[1])}",
            saw=f"{likeness:.3f} in {quoted(texts[0])}",
            steps=evidence.final,
        )


class NumericExpected(Scorer):
    """1 if the agent's final message is the expected number, give or take `tolerance`, else 0.

    The expected answer is a number, or a text that is one; how numbers are read says `numeric`. In
    an experiment this is the scorer `numeric`.
    """

    tolerance: float = Field(
        default=0.0, ge=0, allow_inf_nan=False, description="How far off it may be, either way."
    )
    find: Literal["whole", "first", "last"] = Field(
        default="whole", description="Which number of a text is meant."
    )

    def wants(self, reference: Reference) -> str:
        """See `Scorer`. The expected answer has to be a number."""
        lack = super().wants(reference)
        if not lack and _number(reference.wanted) is None:
            return f"`{self.type}` compares numbers, and the expected answer is none."
        return lack

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        wanted = _number(expected) or Decimal()
        inner = Numeric(value=0, tolerance=self.tolerance, find=self.find)
        found = inner.against(wanted, f"{wanted:.17g}", evidence)
        return found.replace(type=self.type)


def _number(value: JsonValue) -> Decimal | None:
    if isinstance(value, str):
        return only_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(value) if isinstance(value, int) else exact(value)


_ARGUMENTS = ("arguments", "args", "input", "parameters")

CALLS_LIMIT = 200
"""Calls that one case may expect."""


class ReferenceCall(NamedTuple):
    """A call that is expected; with `arguments` None, with any."""

    tool: str
    arguments: JsonObject | None


class ToolUsage(Scorer):
    """The share of the expected calls that the agent made, each counted once, in any order.

    The expected answer is a call or a list of calls: `{tool, arguments}`, `{name, arguments}` (also
    `args`, `input` or `parameters`), a `function` of the OpenAI form, or the name alone. An empty
    list expects that there is none. With `others: counted`, calls that nobody expects count
    against it: the calls that fit, over the expected or the made ones, whichever are more.
    """

    basis: ClassVar[Basis] = Basis.TRACE

    mode: Literal["subset", "exact"] = Field(
        default="subset", description="Whether a call may have further arguments."
    )
    others: Literal["ignored", "counted"] = Field(
        default="ignored", description="Whether calls beside the expected ones count against it."
    )

    def wants(self, reference: Reference) -> str:
        """See `Scorer`. The expected answer has to be calls."""
        lack = super().wants(reference)
        if lack or calls_of(reference.wanted) is not None:
            return lack
        return (
            f"`{self.type}` compares with calls: write the expected answer as "
            f"{{tool: NAME, arguments: {{…}}}}, or a list of at most {CALLS_LIMIT} such."
        )

    def score(self, expected: JsonValue, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that fit, else on all."""
        wanted, made = calls_of(expected) or [], evidence.tool_calls
        if not wanted or self.others == "counted":
            evidence.refuse_empty_claim()
        fits = [[step for step in made.steps if self._fits(call, step)] for call in wanted]
        fitting = matching(fits)
        of = max(len(wanted), len(made.steps)) if self.others == "counted" else len(wanted)
        share = len(fitting) / of if of else 1.0
        if not wanted and made.steps:
            share = 0.0
        names = ", ".join(_shown(one) for one in wanted[:5]) or "no call"
        return self.graded(
            share,
            least=self.min_score,
            expected=names,
            saw=f"{len(fitting)} of {len(wanted)} in {made}",
            steps=[step.number for step in fitting or made.steps],
        )

    def _fits(self, call: ReferenceCall, step: Step) -> bool:
        if step.tool != call.tool:
            return False
        if call.arguments is None:
            return True
        return step.arguments is not None and matches(
            call.arguments, step.arguments, subset=self.mode == "subset"
        )


def matching(fits: Sequence[Sequence[Step]]) -> list[Step]:
    """Return the steps of a largest pairing of expected calls with steps that fit, each step once
    (Kuhn's augmenting paths).
    """
    owner: dict[int, int] = {}
    steps = {step.number: step for each in fits for step in each}

    def placed(index: int, tried: set[int]) -> bool:
        for step in fits[index]:
            if step.number in tried:
                continue
            tried.add(step.number)
            if step.number not in owner or placed(owner[step.number], tried):
                owner[step.number] = index
                return True
        return False

    for index in range(len(fits)):
        placed(index, set())
    return [steps[number] for number in sorted(owner)]


def calls_of(expected: JsonValue) -> list[ReferenceCall] | None:
    """Return the calls that a value says, or None if it says something else."""
    value = _parsed(expected)
    listed = value if isinstance(value, list) else [value]
    if len(listed) > CALLS_LIMIT:
        return None
    calls = [_call(one) for one in listed]
    return None if None in calls else [one for one in calls if one is not None]


def _call(value: JsonValue) -> ReferenceCall | None:
    if isinstance(value, str):
        return ReferenceCall(value, None) if value.strip() else None
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("tool", value.get("name"))
    given = next((value[key] for key in _ARGUMENTS if key in value), None)
    arguments = _parsed(given)
    if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
        return None
    return ReferenceCall(name, arguments)


def _parsed(value: JsonValue) -> JsonValue:
    """Read text that is a JSON object or list; any other text is a name."""
    return _read(value) if isinstance(value, str) and value.lstrip()[:1] in {"{", "["} else value


def _shown(call: ReferenceCall) -> str:
    if call.arguments is None:
        return f"a call of `{shorten(call.tool, 60)}`"
    return f"`{shorten(call.tool, 60)}` with {shorten(json.dumps(call.arguments))}"
