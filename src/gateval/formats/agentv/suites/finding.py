"""Finds the suites of a revision among the files that were recognised, JSON lines among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateval.domain.manifests.catalogue import Broken
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.formats.agentv.names import suite_name
from gateval.formats.agentv.recognition import (
    Kind,
    almost_key,
    is_marked,
    is_named,
    kind_of,
    like_case,
    tells,
)
from gateval.formats.agentv.suites.suite import Suite, read_lines, read_suite
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.gathering import GatheringContext, Pending
from gateval.formats.yaml.document import Document


def suites(
    pending: Sequence[Pending], around: GatheringContext, found: Findings
) -> Iterator[Suite]:
    """Yield each suite whose settings can be read; what is wrong with the others is told."""
    lines: dict[str, tuple[str, Document] | None] = {}
    for path, document, _ in pending:
        if document is None:
            lines.setdefault(path, None)
            continue
        kind = kind_of(path, document.data)
        if kind is Kind.SUITE:
            yield from _read(path, document, around, found)
            _tell_beside(path, document, around, found)
        elif kind is Kind.ALMOST:
            _tell_almost(path, document, found)
        elif kind is Kind.COMPANION:
            _take_lines(path, document, lines, around, found)
    for path, companion in lines.items():
        yield read_lines(path, companion[1] if companion else None, around, found)


def _take_lines(
    path: str,
    document: Document,
    lines: dict[str, tuple[str, Document] | None],
    around: GatheringContext,
    found: Findings,
) -> None:
    """Note whose settings these are. Where they say little, the lines have to look like cases."""
    data = document.data if isinstance(document.data, dict) else {}
    beside = [one for one in lines_beside(path) if one in around.tree]
    if not tells(data):
        beside = [one for one in beside if one in lines or _holds_cases(one, around)]
    found.own |= {path} if beside else set()
    for one in beside:
        known = lines.get(one)
        lines[one] = known or (path, document)
        if known:
            said = f"{show_path(one)} has its settings in {show_path(known[0])} already. Keep one."
            found.problems.append(Problem(place=document.place(), message=said))
    if not beside and (is_named(path) or is_marked(data)):
        said = f"This suite has no cases, and {lines_beside(path)[0]} is not there either."
        found.problems.append(Problem(place=document.place(), message=said))


def _tell_beside(path: str, document: Document, around: GatheringContext, found: Findings) -> None:
    """Say so where cases lie beside a suite that has cases of its own, and does not name them."""
    for one in lines_beside(path):
        if one in around.tree and one not in found.own and _holds_cases(one, around):
            said = (
                f"{show_path(one)} holds cases, too, and nothing here names them. Name that file "
                "under `tests`, or give it another name."
            )
            found.problems.append(Problem(place=document.place(), message=said))


def _holds_cases(path: str, around: GatheringContext) -> bool:
    """Whether the first line of a file is a case as nobody else writes it."""
    data = around.content(path) if around.tree[path].is_file else None
    first = next((line for line in (data or b"").split(b"\n", 50) if line.strip()), b"")
    try:
        return like_case(read_json(first.decode("utf-8-sig")))
    except (NotStrictJson, UnicodeDecodeError):
        return False


def _read(
    path: str, document: Document, around: GatheringContext, found: Findings
) -> Iterator[Suite]:
    found.own.add(path)
    before = len(found.problems)
    suite = read_suite(path, document, around, found)
    if suite is not None:
        yield suite
    else:
        found.broken.append(Broken(found.problems[before], kind="Eval", name=suite_name(path)))


def _tell_almost(path: str, document: Document, found: Findings) -> None:
    data = document.data if isinstance(document.data, dict) else {}
    key = almost_key(data)
    said = "This file looks like a suite of AgentV, but has no cases. Add `tests`, or `evalcases`."
    if key:
        said = (
            f"This file looks like a suite of AgentV, but {quote(key)} is no key of one: its cases "
            "stand under `tests`, or `evalcases`."
        )
    place = document.key_place((key,)) if key else document.place()
    problem = Problem(place=place, path=key, message=said)
    found.problems.append(problem)
    found.broken.append(Broken(problem, kind="Eval", name=suite_name(path)))


def lines_beside(path: str) -> tuple[str, ...]:
    """Return where JSON lines may stand whose settings are in this file."""
    base = path.rpartition(".")[0]
    return tuple(dict.fromkeys((f"{base.removesuffix('.eval')}.jsonl", f"{base}.jsonl")))
