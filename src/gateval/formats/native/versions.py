"""Which documents are ours, going by apiVersion and kind, also where one of them has a typo.

What is almost ours is an error, never passed over: an Eval that vanishes by one wrong letter is a
gate that looks at nothing. What belongs to others is left alone: Kubernetes' own groups hold no
dot and none of our kinds, and every other group there has to hold one.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache

_GROUPS = ("gateval", "pai.io")
_KNOWN = ("gateval/v1", "pai.io/v1")
_ALIKE = 0.85
_LONGEST = 80
"""Characters of an apiVersion that may be ours."""

_VERSION = re.compile(rb"apiVersion[\"']?[ \t]*:[ \t]*[\"']?([^\s\"',}#]{1,%d})" % _LONGEST)
_OUR_KIND = rb"kind[\"']?[ \t]*:[ \t]*[\"']?(?:%s)[\"']?[ \t]*(?:[\r\n,}#]|\Z)"
_KIND = re.compile(_OUR_KIND % b"Agent|Eval|EvalFixture|JudgeCalibration|Benchmark|Experiment")
_PECULIAR = re.compile(_OUR_KIND % b"Eval|EvalFixture|JudgeCalibration")


def almost_ours(data: bytes) -> bool:
    """Whether a file may hold a document of ours with a typo in its apiVersion, or without any."""
    if b"kind" not in data:
        return False
    found = set(_VERSION.findall(data)) if b"apiVersion" in data else set()
    versions = {version.decode("utf-8", "replace") for version in found}
    if not versions:
        return _KIND.search(data) is not None
    if any(map(is_like_ours, versions)):
        return True
    return not all(map(has_group, versions)) and _PECULIAR.search(data) is not None


@lru_cache(maxsize=1024)
def is_like_ours(version: str) -> bool:
    """Whether an apiVersion is one of ours, another version of ours, or nearly so."""
    if len(version) > _LONGEST:
        return False
    folded = version.casefold()
    group = folded.partition("/")[0]
    return group in _GROUPS or any(_ratio(folded, known) >= _ALIKE for known in _KNOWN)


def has_group(version: str) -> bool:
    """Whether an apiVersion names a group with a dot, as every product but Kubernetes has to."""
    return "." in version.partition("/")[0]


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
