"""Whether bytes may hold manifests at all, told without parsing them."""

from __future__ import annotations

import re

from gateval.domain.manifests.own_checks import OWN_CHECKS
from gateval.formats.native.versions import almost_ours

_MARKERS = (b"gateval/v", b"pai.io/v1")
_WIDE_MARKERS = tuple(
    marker.decode().encode(encoding)
    for marker in _MARKERS
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
)
_AGENT = re.compile(rb"(?<![A-Za-z0-9])Agent(?![A-Za-z0-9])")
_NAMES_FILES = tuple(word.encode() for word in (*OWN_CHECKS, "playground"))
_CHECK = re.compile(rb"(?<![A-Za-z0-9])(?:" + b"|".join(_NAMES_FILES) + rb")(?![A-Za-z0-9])")
_MESSAGES = re.compile(rb"(?<![A-Za-z0-9])(?:messages|turns)(?![A-Za-z0-9])")
_WITH_CHECKS = (b"EvalFixture", b"Benchmark")
_TARGET = re.compile(
    rb"targetAgent[\"']?[ \t]*:[ \t]*[\"']?([a-z0-9.-]+)[\"']?[ \t]*(?=[\r\n,}#]|\Z)"
)
_ESCAPE = re.compile(rb"\\[xuU\r\n]")


def looks_like_manifest(data: bytes) -> bool:
    """Whether the text holds `pai.io/v1` or any `gateval/v…` anywhere, or nearly so.

    Versions of ours that do not exist are let in, so that they are refused and not passed over;
    and so are files in UTF-16 and UTF-32.
    """
    if any(marker in data for marker in _MARKERS) or almost_ours(data):
        return True
    return b"\0" in data and any(marker in data for marker in _WIDE_MARKERS)


def may_hold_agent(data: bytes) -> bool:
    """Whether a manifest file can hold an Agent, told without parsing; false is certain.

    `kind: Agent` needs the word by itself, or an escape that can spell it or joins two lines. An
    Experiment may be about a function, which is an Agent then. What is in UTF-16 or UTF-32 is for
    the reader to refuse.
    """
    if b"Experiment" in data or b"\0" in data:
        return True
    if data.count(b"Agent") > data.count(b"targetAgent") and _AGENT.search(data) is not None:
        return True
    return b"\\" in data and _ESCAPE.search(data) is not None


def targets(data: bytes) -> frozenset[str | None]:
    """Return the Agents that Evals in a manifest file are about, told without parsing.

    None stands for one that only a reader can tell.
    """
    found = [name.decode() for name in _TARGET.findall(data)]
    unclear = [None] if len(found) < data.count(b"targetAgent") else []
    return frozenset([*found, *unclear])


def may_name_files(data: bytes) -> bool:
    """Whether a manifest file can hold an own check, a playground, or messages with files, told
    without parsing; false is certain.

    `type: script`, `playground:` and `path:` need the word by itself and a fixture, or an escape
    that can spell them.
    """
    if any(kind in data for kind in _WITH_CHECKS):
        if any(word in data for word in _NAMES_FILES) and _CHECK.search(data) is not None:
            return True
        if b"path" in data and _MESSAGES.search(data) is not None:
            return True
    return b"\\" in data and _ESCAPE.search(data) is not None
