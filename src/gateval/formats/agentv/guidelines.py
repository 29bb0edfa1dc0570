"""Which attached files are rules to keep to: `guideline_patterns` in `.agentv/config.yaml`."""

from __future__ import annotations

from collections.abc import Callable

from gateval.domain.repository.patterns import match_any
from gateval.formats.agentv.documents import read_yaml
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.references import roots
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.gathering import GatheringContext

_CONFIG = ".agentv/config.yaml"
_KEY = "guideline_patterns"


def guidelines_for(folder: str, around: GatheringContext, found: Findings) -> Callable[[str], bool]:
    """Return whether a tracked file is a guideline to suites in `folder`, by the next config."""
    for root in roots(folder):
        path = f"{root}/{_CONFIG}".lstrip("/")
        if path in around.tree and around.tree[path].is_file:
            return _patterns(path, around, found)
    return lambda _path: False


def _patterns(path: str, around: GatheringContext, found: Findings) -> Callable[[str], bool]:
    documents, problems = read_yaml(path, around.content(path) or b"")
    found.own.add(path)
    found.problems += problems
    if problems or not documents:
        return lambda _path: False
    listed = Node(documents[0], (), documents[0].data).at(_KEY)
    if listed.value is not None and not isinstance(listed.value, list):
        found.problems.append(listed.wrong("a list of patterns"))
    patterns = [one.value for one in listed.items() if isinstance(one.value, str)]
    return match_any(patterns)
