"""The conversations of one trial, and how much of a request is known from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gateval.gateway.local.fingerprints import Fingerprints


class Match(NamedTuple):
    """How a history relates to what is known.

    `continues` says that its first messages are a whole known conversation. `new` are the
    positions of the messages that are not known, in order.
    """

    continues: bool
    new: tuple[int, ...]


class _Node:
    """A message in the tree of all histories; `next` leads on by the next one's fingerprints."""

    __slots__ = ("is_end", "next")

    def __init__(self) -> None:
        self.next: dict[str, _Node] = {}
        self.is_end = False


class Conversations:
    """Remembers histories by their messages' fingerprints, as a tree: they share beginnings."""

    def __init__(self) -> None:
        self._root = _Node()
        self._counts: Counter[str] = Counter()

    def match(self, history: Sequence[Fingerprints]) -> Match:
        """Return what is known of `history`.

        Where it continues a conversation, all that follows is new, though it may repeat earlier
        words. Where it does not, a message is new if no conversation holds it that often.
        """
        path = self._walk(history)
        shared = len(path)
        if path and path[-1].is_end:
            return Match(continues=True, new=tuple(range(shared, len(history))))
        seen: Counter[str] = Counter()
        new = []
        for index, fingerprints in enumerate(history):
            seen.update(fingerprints)
            if index >= shared and all(
                seen[fingerprint] > self._counts[fingerprint] for fingerprint in fingerprints
            ):
                new.append(index)
        return Match(continues=False, new=tuple(new))

    def remember(self, history: Sequence[Fingerprints]) -> None:
        """Keep a history; the conversations that it continues end with it from now on."""
        path = self._walk(history)
        for node in path:
            node.is_end = False
        last = path[-1] if path else self._root
        for fingerprints in history[len(path) :]:
            node = _Node()
            last.next.update(dict.fromkeys(fingerprints, node))
            last = node
        last.is_end = bool(history)
        for fingerprint, count in Counter(
            fingerprint for fingerprints in history for fingerprint in fingerprints
        ).items():
            self._counts[fingerprint] = max(self._counts[fingerprint], count)

    def _walk(self, history: Sequence[Fingerprints]) -> list[_Node]:
        """Return the nodes of the longest known beginning of `history`."""
        path: list[_Node] = []
        node = self._root
        for fingerprints in history:
            found = next(
                (
                    node.next[fingerprint]
                    for fingerprint in sorted(fingerprints)
                    if fingerprint in node.next
                ),
                None,
            )
            if found is None:
                break
            path.append(found)
            node = found
        return path
