"""Prompts of GitHub Models with their tests: `*.prompt.yml`.

Source: https://docs.github.com/en/github-models/use-github-models/storing-prompts-in-github-repositories
and `gh models eval` (https://github.com/github/gh-models), which compares letters of either case,
but for `equals`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.imports.base import (
    Case,
    Imported,
    NotCarried,
    Request,
    document_of,
    entries,
    filled,
    judged,
    objects,
)

_STRINGS = ("equals", "contains", "startsWith", "endsWith")


def read(request: Request) -> Imported:
    """Return a case for each row of `testData`. Raises `InvalidManifests` for another file."""
    document = document_of(request)
    prompt = document.data
    if not isinstance(prompt, dict) or not isinstance(prompt.get("messages"), list):
        raise request.refused("This is no prompt of GitHub Models: it has no `messages`.")
    evaluators = objects(prompt.get("evaluators"))
    said = [str(one.get("content") or "") for one in objects(prompt["messages"])
            if one.get("role") == "user"]  # fmt: skip
    cases: list[Case] = []
    for place, row in entries(document, ("testData",)):
        try:
            asked = filled(said[-1], row) if said else ""
        except NotCarried as error:
            request.leave(place, "the case", f"its prompt cannot be filled in: {error}")
            continue
        asserted: list[JsonValue] = []
        for one in evaluators:
            name = str(one.get("name") or "evaluator")
            try:
                made = [*_made(request, one, row)]
                asserted += [{"type": each["type"], "name": name, **each} for each in made]
            except NotCarried as error:
                request.leave(place, f"the evaluator `{name}`", error)
        if not asserted:
            request.leave(place, "the case", "nothing of it can be asserted")
            continue
        payload: JsonObject = {**row, "prompt": asked} if asked else dict(row)
        expected = payload.pop("expected", None)
        spec: JsonObject = {"input": {"type": "prompt", "payload": payload}}
        if isinstance(expected, str):
            spec["reference"] = {"answer": expected}
        cases.append(Case("", place, {**spec, "assertions": asserted}))
    why = "they belong to the Agent; the last of the user is a fixture's prompt"
    request.leave(document.place(("messages",)), "messages and model", why)
    return Imported(cases, request.left)


def _made(request: Request, evaluator: JsonObject, row: JsonObject) -> Iterator[JsonObject]:
    text, model = evaluator.get("string"), evaluator.get("llm")
    if isinstance(text, dict):
        for kind in _STRINGS:
            value = text.get(kind)
            if isinstance(value, str) and value:
                options: JsonObject = {} if kind == "equals" else {"ignoreCase": True}
                yield {"type": kind, "value": filled(value, row), **options}
    elif isinstance(model, dict):
        yield judged(request, _rubric(model, row))
    else:
        used = evaluator.get("uses")
        raise NotCarried(f"`{used}` is an evaluator of GitHub's: no assertion of ours is the same")


def _rubric(model: JsonObject, row: JsonObject) -> JsonObject:
    """Return the question to the judge; what it may choose stands in it, with the scores."""
    asked = str(model.get("prompt") or "").replace("{{completion}}", "the final answer")
    choices = [
        f"- {one.get('choice')}: score {one.get('score')}" for one in objects(model.get("choices"))
    ]
    listed = "\n".join(["", "", "Scores:", *choices]) if choices else ""
    return {"rubric": filled(asked, row) + listed}
