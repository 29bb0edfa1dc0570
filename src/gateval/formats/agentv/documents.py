"""Reads YAML of AgentV: as all YAML, but for one mapping whose keys are numbers there."""

from __future__ import annotations

from dataclasses import replace

from gateval.domain.repository.place import Problem
from gateval.formats.yaml.document import Document
from gateval.formats.yaml.reader import read_documents

_BY_POINTS = "score_ranges"
_NO_TEXT = "A key must be text. Put it in quotes:"


def read_yaml(path: str, data: bytes) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents and problems of a file, as `read_documents` does.

    The keys of `score_ranges` are points: `0: …` is no mistake there, and stands for `"0": …`.
    """
    documents, problems = read_documents(path, data)
    if not any(map(_is_points, problems)):
        return documents, problems
    kept = [replace(one, problems=_without(one.problems)) for one in documents]
    return tuple(kept), _without(problems)


def _without(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(one for one in problems if not _is_points(one))


def _is_points(problem: Problem) -> bool:
    return problem.path.endswith(_BY_POINTS) and problem.message.startswith(_NO_TEXT)
