"""Answers, traces and fixtures in few words, and one assertion assessed the way the engine does."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

from pydantic import JsonValue

from gateval.assertions.assess import assess
from gateval.assertions.registry import COMBINATORS
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    Fixture,
    FixtureInput,
    InputType,
    Reference,
)
from gateval.domain.problems import SourceLocation
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, Assessment
from gateval.judging.judge import Judge

PLACE = SourceLocation(file="evals/sample.yaml")
PROMPT = FixtureInput(type=InputType.PROMPT, payload={"prompt": "I want a refund."})
JUDGE = JudgeSpec(model="scripted/judge")

Source = Literal["gate", "gateway", "candidate"]


def trace(*steps: str, source: Source = "gate", usage: Usage | None = None) -> Trace:
    """A trace of steps like `user: hi`, `call refund {"order": 1}`, `result refund: ok`, `says: x`."""
    builder = TraceBuilder()
    for step in steps:
        _add(builder, step)
    return Trace(steps=builder.steps(), source=source, usage=usage or Usage())


def called(names: str, output: str = "done") -> Answer:
    """An answer after calls of the tools named, so that the first call is step 2 of the trace.

    The call of `name!` was refused.
    """
    words = ("refused" if name.endswith("!") else "call" for name in names.split())
    calls = zip(words, names.replace("!", "").split(), strict=True)
    return Answer(
        output=output,
        trace=trace("user: go", *(f"{word} {name} {{}}" for word, name in calls)),
        seconds=1,
    )


def said(output: str) -> Answer:
    """An answer of a candidate that gave no trace."""
    return Answer(output=output, seconds=1)


def fixture(*assertions: dict[str, JsonValue]) -> Fixture:
    """A fixture with these assertions, each as in YAML."""
    specs = tuple(map(_spec, assertions))
    return Fixture(name="sample", input=PROMPT, assertions=specs, place=PLACE, path="x", digest="0")


def _spec(written: Any) -> AssertionSpec:
    combines = written["type"] in COMBINATORS
    inner = written.get("assertions", []) if combines else []
    shared = {"name", "weight", "required"} & written.keys()
    left_out = {"type", *shared} | ({"assertions"} if combines else set())
    return AssertionSpec(
        type=str(written["type"]),
        **{key: written[key] for key in shared},
        options={key: value for key, value in written.items() if key not in left_out},
        parts=tuple(map(_spec, inner)),
        place=PLACE,
    )


def assessed(
    assertion: dict[str, Any],
    answer: Answer,
    judge: Judge | None = None,
    reference: Reference | None = None,
) -> Assessment:
    """The assessment of one assertion, as the engine would get it."""
    asked = fixture(assertion).model_copy(update={"reference": reference})
    (assessment,), _ = asyncio.run(assess(asked, answer, judge, JUDGE))
    return assessment


def _add(builder: TraceBuilder, step: str) -> None:
    word, _, rest = step.partition(" ")
    if word in {"call", "refused"}:
        name, _, arguments = rest.partition(" ")
        given, refused = json.loads(arguments or "{}"), word == "refused"
        builder.add(StepKind.TOOL_CALL, tool=name, arguments=given, refused=refused)
    elif word == "result":
        name, _, text = rest.partition(": ")
        builder.add(StepKind.TOOL_RESULT, text, tool=name)
    else:
        kind = {"user:": StepKind.USER, "says:": StepKind.ASSISTANT, "error:": StepKind.ERROR}
        builder.add(kind[word], rest)
