"""Laxer rules and other edits of a change in the gate config.

Nothing of it counts before it is merged: the base tip's rules decide. But who merges it should
have seen it, and a laxer rule is a lower bar for everything that comes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from gateval.domain.manifests.policy.gate_config import GateConfig
from gateval.domain.manifests.policy.strictness import KeyPath, direction_of, leaves, written
from gateval.domain.plan.bar import Lowered
from gateval.domain.repository.place import Place


@dataclass(frozen=True)
class RulesEdit:
    """The gate config before and after a change, and on the base tip, which decides.

    `before` is the merge-base's; None if that cannot be read. `places` are those of head's keys.
    An absent file means the defaults; `first` says that the change brings one where there was none.
    """

    before: GateConfig | None
    after: GateConfig
    tip: GateConfig
    file: str
    places: Mapping[str, Place] = field(default_factory=dict)
    first: bool = False


def laxer_rules(edit: RulesEdit) -> tuple[Lowered, ...]:
    """Return every rule that the change itself makes laxer than the base tip has it."""
    found = tuple(_laxer(edit.tip, edit))
    if edit.before is None:
        return found
    own = {one.what for one in _laxer(edit.before, edit)}
    return tuple(one for one in found if one.what in own)


def other_edits(edit: RulesEdit) -> tuple[str, ...]:
    """Return the other edits in words, such as `policy.drafts evaluate -> wait`."""
    before = edit.before or edit.tip
    laxer = {one.what for one in laxer_rules(edit)}
    old, new = leaves(before), leaves(edit.after)
    return tuple(
        f"{written(path)} {_show(old.get(path))} \N{RIGHTWARDS ARROW} {_show(new.get(path))}"
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path) and written(path) not in laxer
    )


def _laxer(before: GateConfig, edit: RulesEdit) -> Iterator[Lowered]:
    old, new = leaves(before), leaves(edit.after)
    for path in sorted(old.keys() & new.keys()):
        if direction_of(path).laxer(old[path], new[path]):
            yield _lowered(path, old[path], new[path], edit)


def _lowered(path: KeyPath, old: JsonValue, new: JsonValue, edit: RulesEdit) -> Lowered:
    key = written(path)
    return Lowered(place=_place(key, edit), what=key, before=_show(old, key), after=_show(new, key))


def _place(key: str, edit: RulesEdit) -> Place:
    """Where the key stands on head, or what is around it; a rule that is gone stands nowhere."""
    while key:
        if key in edit.places:
            return edit.places[key]
        key = key.rpartition(".")[0]
    return Place(file=edit.file)


def _show(value: JsonValue, key: str = "") -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or ("every YAML file" if key == "manifests" else "none")
    return str(value) or "none"
