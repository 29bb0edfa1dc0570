"""Prompts of GitHub Models with their tests: `*.prompt.yml`.

Source: https://docs.github.com/en/github-models/use-github-models/storing-prompts-in-github-repositories
and `gh models eval` (https://github.com/github/gh-models), which compares letters of either case,
but for `equals`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import object_of, objects_of
from gateval.formats.imports.base import (
    Imported,
    ImportedCase,
    ImportRequest,
    NotCarried,
    asked,
    asserted,
    document_of,
    entries,
    filled,
    judged,
)
from gateval.formats.yaml_document import Document

_STRINGS = ("equals", "contains", "startsWith", "endsWith")


def read(request: ImportRequest) -> Imported:
    """Return a case for each row of `testData`. Raises `InvalidManifests` for another file."""
    document = document_of(request)
    prompt = document.data
    if not isinstance(prompt, dict) or not isinstance(prompt.get("messages"), list):
        raise request.refused("This is no prompt of GitHub Models: it has no `messages`.")
    said = [str(one.get("content") or "") for one in objects_of(prompt["messages"])
            if one.get("role") == "user"]  # fmt: skip
    evaluators = [one for _, one in entries(request, document, ("evaluators",))]
    cases: list[ImportedCase] = []
    for place, row in entries(request, document, ("testData",)):
        given = asked(request, place, row, said[-1] if said else "")
        if given is None:
            continue
        wanted = (
            (
                f"the evaluator `{one.get('name') or 'evaluator'}`",
                partial(_named, request, one, row),
            )
            for one in evaluators
        )
        if not (made := asserted(request, place, wanted)):
            continue
        spec: JsonObject = {"input": given}
        payload = given["payload"]
        expected = payload.pop("expected", None) if isinstance(payload, dict) else None
        if isinstance(expected, str | int | float):
            spec["reference"] = {"answer": str(expected)}
        elif expected is not None:
            request.leave(place, "expected", "it is no text")
        cases.append(ImportedCase("", place, {**spec, "assertions": made}))
    _leave_agent(request, document)
    return Imported(cases, request.left)


def _leave_agent(request: ImportRequest, document: Document) -> None:
    """Note what makes the prompt, and its judges, what they are."""
    prompt = object_of(document.data)
    of_agent = [key for key in prompt if key not in {"testData", "evaluators"}]
    why = "they belong to the Agent; the last of the user is a fixture's prompt"
    request.leave(document.place(("messages",)), " and ".join(of_agent), why)
    for one in objects_of(prompt, "evaluators"):
        model = one.get("llm")
        own = [key for key in model if key not in _OF_JUDGE] if isinstance(model, dict) else []
        if own:
            what = f"{' and '.join(own)} of the evaluator `{one.get('name') or 'evaluator'}`"
            request.leave(document.place(("evaluators",)), what, "the Eval's judge has its own")


_OF_JUDGE = {"prompt", "choices"}


def _named(request: ImportRequest, evaluator: JsonObject, row: JsonObject) -> list[JsonObject]:
    name = str(evaluator.get("name") or "evaluator")
    return [{"type": one["type"], "name": name, **one} for one in _made(request, evaluator, row)]


def _made(request: ImportRequest, evaluator: JsonObject, row: JsonObject) -> Iterator[JsonObject]:
    text, model = evaluator.get("string"), evaluator.get("llm")
    if isinstance(text, dict):
        for kind, value in text.items():
            if kind not in _STRINGS or not isinstance(value, str):
                raise NotCarried(f"no assertion of ours does the same as its `{kind}`")
            if value:
                options: JsonObject = {} if kind == "equals" else {"ignoreCase": True}
                yield {"type": kind, "value": filled(value, row), **options}
    elif isinstance(model, dict):
        yield judged(request, _rubric(model, row))
    else:
        used = evaluator.get("uses")
        if not used:
            raise NotCarried("it has neither `string` nor `llm` nor `uses`")
        raise NotCarried(f"`{used}` is an evaluator of GitHub's: no assertion of ours is the same")


def _rubric(model: JsonObject, row: JsonObject) -> JsonObject:
    """Return the question to the judge; what it may choose stands in it, with the scores."""
    asked = str(model.get("prompt") or "").replace("{{completion}}", "the final answer")
    choices = [
        f"- {one.get('choice')}: score {one.get('score')}" for one in objects_of(model, "choices")
    ]
    listed = "\n".join(["", "", "Scores:", *choices]) if choices else ""
    return {"rubric": filled(asked, row) + listed}
