"""Recognises the files of AgentV one by one; `assembly.py` puts them together."""

from __future__ import annotations

import re

from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem
from gateval.formats.agentv.documents import read_yaml
from gateval.formats.agentv.recognition import (
    NO_MAPPING,
    Kind,
    is_named,
    is_surely_named,
    kind_of,
    narrow,
)
from gateval.formats.gathering import Pending
from gateval.formats.parsed import Parsed
from gateval.formats.registries import Registries

_PECULIAR = re.compile(rb"^[\"']?(?:evalcases|eval_cases)[\"']?[ \t]*:", re.MULTILINE)
_NEWER = (
    "This suite is written for AgentV 5, which is not read yet. Versions 2.6.1 to 4 are: cases as "
    "`tests` with `input`, and a target in `execution`."
)


def read_file(path: str, data: bytes, registries: Registries) -> Parsed:
    """Return a suite or companion as something to be put together, be it with what is wrong with
    its YAML. What belongs to others gives nothing.
    """
    del registries
    if path.endswith(".jsonl"):
        return Parsed((), (), pending=(Pending(path, None),))
    documents, problems = read_yaml(path, data)
    kinds = [kind_of(path, document.data) for document in documents]
    if not documents and not problems and is_surely_named(path):
        return _broken(
            path,
            (Problem(place=Place(file=show_path(path), line=1, column=1), message=NO_MAPPING),),
        )
    if not any(kinds):
        plain = narrow(data)
        surely = b"agentv-eval" in plain or _PECULIAR.search(plain) is not None
        if problems and (surely or is_named(path)):
            return _broken(path, problems)
        return Parsed((), ())
    if problems:
        return _broken(path, problems)
    if len(documents) > 1:
        said = "Only one document may stand in this file."
        return _broken(path, (Problem(place=documents[1].place(), message=said),))
    if kinds[0] is Kind.NEWER:
        return _broken(path, (Problem(place=documents[0].place(), message=_NEWER),))
    return Parsed((), (), pending=(Pending(path, documents[0]),))


def _broken(path: str, problems: tuple[Problem, ...]) -> Parsed:
    return Parsed((), (), pending=(Pending(path, None, problems=problems),))
