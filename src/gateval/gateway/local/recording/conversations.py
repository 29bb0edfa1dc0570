"""The conversations of one trial, and how much of a request is known from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gateval.gateway.local.recording.fingerprints import Fingerprints, is_users


class Match(NamedTuple):
    """How a history relates to what is known.

    `continues` says that its first messages are a whole known conversation. `new` are the
    positions of the messages that are not known, in order. `number` is the conversation that it
    belongs to, from 1.
    """

    continues: bool
    new: tuple[int, ...]
    number: int


class _Node:
    """A message in the tree of all histories; `next` leads on by the next one's fingerprints.

    `ends` is the number of the conversation that ends with it until now, or 0.
    """

    __slots__ = ("ends", "next")

    def __init__(self) -> None:
        self.next: dict[str, _Node] = {}
        self.ends = 0


class Conversations:
    """Remembers histories by their messages' fingerprints, as a tree: they share beginnings."""

    def __init__(self) -> None:
        self._root = _Node()
        self._counts: Counter[str] = Counter()
        self._said_in: dict[str, int] = {}
        self._last = 0

    def match(self, history: Sequence[Fingerprints]) -> Match:
        """Return what is known of `history`.

        Where it continues a conversation, all that follows is new, though it may repeat earlier
        words. Where it does not, a message is new if no conversation holds it that often; and it
        is the conversation that has said its latest known words, in an altered form, or one more
        if nobody has: agents that work side by side share questions, not answers.
        """
        path = self._walk(history)
        shared = len(path)
        if path and path[-1].ends:
            new = tuple(range(shared, len(history)))
            return Match(continues=True, new=new, number=path[-1].ends)
        seen: Counter[str] = Counter()
        unknown = []
        for index, fingerprints in enumerate(history):
            seen.update(fingerprints)
            if index >= shared and all(
                seen[fingerprint] > self._counts[fingerprint] for fingerprint in fingerprints
            ):
                unknown.append(index)
        number = self._speaker(history) or self._last + 1
        return Match(continues=False, new=tuple(unknown), number=number)

    def remember(self, history: Sequence[Fingerprints], number: int) -> None:
        """Keep a history of the conversation `number`; those that it continues end with it from
        now on.
        """
        self._last = max(self._last, number)
        self._said_in.update(
            (one, number) for said in history if not is_users(said) for one in said
        )
        path = self._walk(history)
        for node in path:
            node.ends = 0
        last = path[-1] if path else self._root
        for fingerprints in history[len(path) :]:
            node = _Node()
            last.next.update(dict.fromkeys(fingerprints, node))
            last = node
        last.ends = number if history else 0
        for fingerprint, count in Counter(
            fingerprint for fingerprints in history for fingerprint in fingerprints
        ).items():
            self._counts[fingerprint] = max(self._counts[fingerprint], count)

    def _speaker(self, history: Sequence[Fingerprints]) -> int:
        """Return the conversation in which the latest known words of an agent were said, or 0."""
        known = (
            self._said_in[fingerprint]
            for said in reversed(history)
            if not is_users(said)
            for fingerprint in sorted(said)
            if fingerprint in self._said_in
        )
        return next(known, 0)

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
