"""Finds the suites of a revision among the files that were recognised, JSON lines among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateval.domain.manifests.catalogue import Broken
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.agentv.names import suite_name
from gateval.formats.agentv.recognition import Kind, almost_key, is_named, kind_of
from gateval.formats.agentv.suites.suite import Suite, read_lines, read_suite
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.gathering import Around, Pending
from gateval.formats.yaml.document import Document


def suites(pending: Sequence[Pending], around: Around, found: Findings) -> Iterator[Suite]:
    """Yield each suite whose settings can be read; what is wrong with the others is told."""
    lines: dict[str, Document | None] = {}
    for path, document, _ in pending:
        if document is None:
            lines.setdefault(path, None)
            continue
        kind = kind_of(path, document.data)
        if kind is Kind.SUITE:
            yield from _read(path, document, around, found)
        elif kind is Kind.ALMOST:
            _tell_almost(path, document, found)
        elif kind is Kind.COMPANION:
            beside = [one for one in lines_beside(path) if one in around.tree]
            lines |= dict.fromkeys(beside, document)
            found.own |= {path} if beside else set()
            if not beside and is_named(path):
                said = f"This suite has no cases, and {lines_beside(path)[0]} is not there either."
                found.problems.append(Problem(place=document.place(), message=said))
    for path, companion in lines.items():
        yield read_lines(path, companion, around, found)


def _read(path: str, document: Document, around: Around, found: Findings) -> Iterator[Suite]:
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
