"""Servers of Node whose framework makes their routes: VoltAgent and Genkit.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from gateval.domain.setup.invocation import PROMPT, Invocation
from gateval.domain.setup.node_routes import question_in
from gateval.domain.setup.node_text import braced, definition, parts, without_comments
from gateval.domain.setup.zod import schema_fields, schemas_of


def of_framework(text: str, behind: str) -> Invocation | None:
    """Return how a server is asked whose framework makes its routes; None for any other."""
    text, behind = without_comments(text), without_comments(behind)
    return _volt_agent(text, behind) or _genkit(text, behind)


_VOLT = re.compile(r"\bnew VoltAgent\(\s*\{")
_VOLT_SERVES = re.compile(r"\bserver\s*:|\bserverless\s*:")
_VOLT_LOGIN = re.compile(r"\bauth(?:Next)?\s*:\s*(?:\{|\w+\()")
"""How its server is given what lets people in."""

_KEY = r"\b{}\s*:\s*[\"'`]([^\"'`$\n]+)"


def _volt_agent(text: str, behind: str) -> Invocation | None:
    """Return how a server of VoltAgent is asked; None for any other.

    Of its agents it is the one that has others below it, else the first.
    """
    made = _VOLT.search(text)
    given = braced(text, made.end()) if made else ""
    if not _VOLT_SERVES.search(given):
        return None
    whole = f"{text}\n{behind}"
    listed = re.search(r"\bagents\s*:\s*\{", given)
    named = parts(braced(given, listed.end())) if listed else ()
    found: list[tuple[bool, str]] = []
    for one in named:
        variable = one.rpartition(":")[2].strip()
        body = _agent_of(variable, whole) if variable else ""
        own = "\n".join(part for part in parts(body) if "{" not in part.partition(":")[2][:3])
        known = re.search(_KEY.format("id"), own) or re.search(_KEY.format("name"), own)
        if known:
            found.append((not re.search(r"\bsubAgents\s*:", body), known[1]))
    if not found:
        return None
    return Invocation(
        route=f"/agents/{quote(min(found, key=lambda one: one[0])[1])}/text",
        field="input",
        answer="data.text",
        login=bool(_VOLT_LOGIN.search(given)),
    )


_NEW = r"new Agent\(\s*\{"


def _agent_of(variable: str, whole: str) -> str:
    """Return what an agent of a variable is made with, there or in a function that makes it."""
    named = rf"\b{re.escape(variable)}\b[^=\n;]*=\s*"
    if agent := re.search(named + _NEW, whole):
        return braced(whole, agent.end())
    called = re.search(rf"{named}(?:await\s+)?(\w+)\(", whole)
    made = definition(called[1], whole) if called else ""
    agent = re.search(_NEW, made)
    return braced(made, agent.end()) if agent else ""


_FLOWS = re.compile(
    r"\bstartFlowServer\((?P<served>)|\.post\(\s*[\"'`](?P<place>/[^\"'`\n]*)[\"'`]\s*,\s*expressHandler\(\s*"
    r"(?P<name>\w+)"
    r"|\.(?:post|all)\(\s*[\"'`](?P<at>/[^\"'`*\n]*)[\"'`]\s*,[^\n]{0,200}?\bfetchHandler\(\s*(?P<flow>\w+)"
    r"|\bfetchHandlers\(\s*(?:\[(?P<listed>[^\]]*)\]|(?P<kept>\w+))(?:\s*,\s*[\"'`](?P<under>[^\"'`\n]*)[\"'`])?"
)
_GUARDED = re.compile(r"\bwithActionOptions\((?:[^()]|\([^()]*\))*\)")
_PREFIX = re.compile(r"\bpathPrefix\s*:\s*[\"'`]([^\"'`$\n]*)")


def _genkit(text: str, behind: str) -> Invocation | None:
    """Return how a flow of Genkit is asked that a server of Express gives; None for any other."""
    whole = f"{text}\n{behind}"
    served = [] if "genkit" not in whole else [*_FLOWS.finditer(text)]
    for one in served:
        names, prefix = _named_in(one, text, whole)
        place = one["place"] or one["at"]
        for name in names:
            made = re.search(rf"\b{name}\b[^=\n;]*=\s*\w+\.defineFlow\(", whole) if name else None
            about = next(parts(braced(whole, made.end())), "") if made else ""
            called = re.search(_KEY.format("name"), about)
            plain = re.fullmatch(r"\s*[\"'`]([^\"'`\n]+)[\"'`]\s*", about)
            named = called or plain
            asked = question_of_flow(about, whole)
            if asked and (named or place):
                own = f"/{prefix}{named[1] if named else name}"
                return asked._replace(route=place or own)
    return None


def _named_in(served: re.Match[str], text: str, whole: str) -> tuple[list[str], str]:
    """Return the flows that a server names, and what stands before their names in its paths."""
    if served["kept"] or served["listed"] is not None:
        kept = re.search(rf"\b{served['kept']}\b[^=\n;]*=\s*\[([^\]]*)", whole)
        listed = served["listed"] if served["kept"] is None else kept[1] if kept else ""
        under = (served["under"] or "").strip("/")
        return re.findall(r"\w+", _GUARDED.sub("", listed)), f"{under}/" if under else ""
    if served["served"] is None:
        return [served["name"] or served["flow"] or ""], ""
    given = braced(text, served.end())
    flows = re.search(r"\bflows\s*:\s*\[([^\]]*)", given)
    prefix = _PREFIX.search(given)
    return re.findall(r"\w+", flows[1]) if flows else [""], prefix[1] if prefix else ""


def question_of_flow(about: str, whole: str) -> Invocation | None:
    """Return the body of a flow by its schema; None where it takes no question."""
    schema = re.search(r"\binputSchema\s*:\s*", about)
    if schema is None:
        return None
    written = about[schema.end() :].strip()
    known = schemas_of(whole)
    name = re.match(r"\w+(?=\s*[,}\n])", written)
    fields = schema_fields(known.get(name[0], "") if name else written, known)
    field = question_in(fields)
    if not field and not re.match(r"z\.string\(", written):
        return None
    body = json.dumps({"data": fields if field else PROMPT})
    field = f"data.{field}" if field else "data"
    return Invocation(field=field, answer="result", body=body)
