"""The request to a server, and how its response is read. Pure.

The same values as in `candidates/contract/question.py`, put where the manifest says.
"""

from __future__ import annotations

import re
from urllib.parse import quote as percent_encode

from pydantic import JsonValue

from gateval.candidates.bounded import template
from gateval.candidates.contract.options import Response
from gateval.candidates.contract.question import ProgramAnswer, question, template_values
from gateval.candidates.contract.response import read_response
from gateval.candidates.serving.options import Request
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput
from gateval.formats.templates.parts import TemplateError
from gateval.ports.local_http import LocalReply, LocalRequest
from gateval.wire.json_text import write_json

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def write_request(written: Request, asked: FixtureInput, playground: str = "") -> LocalRequest:
    """Return the request of a trial.

    Raises `TemplateError` when the fixture lacks what a template names.
    """
    values = template_values(asked, playground)
    budget = template.Budget()
    headers = [
        (name, _header(name, text, values, budget)) for name, text in written.headers.items()
    ]
    if written.method in _WITH_BODY and "content-type" not in {name.lower() for name, _ in headers}:
        headers.append(("Content-Type", "application/json"))
    return LocalRequest(
        method=written.method,
        target=_target(written.path, values, budget),
        headers=tuple(headers),
        body=_body(written, asked, values, budget),
    )


def _target(path: str, values: JsonObject, budget: template.Budget) -> str:
    """What stands in the manifest is kept, what comes from the fixture is percent-encoded."""
    return "".join(
        percent_encode(text, safe="/?&=%:@!$'()*+,;~-._" if literal else "", errors="replace")
        for text, literal in template.render_text(path, values, budget)
    )


def _header(name: str, source: str, values: JsonObject, budget: template.Budget) -> str:
    text = "".join(part for part, _ in template.render_text(source, values, budget))
    if _CONTROL.search(text):
        raise TemplateError(
            f"the header `{name}` would hold a line break or another control character"
        )
    return text.encode("utf-8", "replace").decode("utf-8")


def _body(
    written: Request, asked: FixtureInput, values: JsonObject, budget: template.Budget
) -> bytes | None:
    if written.method not in _WITH_BODY:
        return None
    if written.body is None:
        return write_json(question(asked))
    return write_json(_filled(written.body, values, budget))


def _filled(body: JsonValue, values: JsonObject, budget: template.Budget) -> JsonValue:
    if isinstance(body, str):
        return template.render(body, values, budget)
    if isinstance(body, dict):
        return {key: _filled(value, values, budget) for key, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, values, budget) for value in body]
    return body


def read_reply(paths: Response, reply: LocalReply) -> ProgramAnswer:
    """Read what a server answered with a status of 2xx. Raises `ClaimError`."""
    kind = reply.content_type.partition(";")[0].strip().lower()
    return read_response(paths, reply.body, kind)
