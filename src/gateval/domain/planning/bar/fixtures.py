"""The demands of fixtures, their assertions and Agents, before and after: what a change lowers.

A part of `all` or `not` that is gone asks less, one that is added asks more; for `any` it is the
other way round. Inside a `not` everything is turned round once more.

A script stands for a model, the gate for a program; or a file's change is no longer measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from gateval.domain.base import canonical_json, json_text
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.manifests.evaluation import is_sealed, script_name
from gateval.domain.manifests.fixture import DEFAULT_WEIGHTS, AssertionSpec, Fixture
from gateval.domain.paths import show_path
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.plan.planned_eval import Lowered
from gateval.domain.planning.change import prompt_path, system_text
from gateval.domain.planning.closure import closure_of, closure_paths
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import SourceLocation
from gateval.domain.text import excerpts, listing

_NAMING = ("tool", "tools", "value", "pattern", "name", "command", "function", "to")
"""Options that tell one assertion of a type from another, in the order in which they are shown."""

_ANY, _NOT = "any", "not"


@dataclass(frozen=True)
class _Group:
    """Assertions that stand together: in a fixture, or in a combinator on head.

    `more_asks_less` says that one more of them lets more answers pass, `negated` that they stand in
    a `not`.
    """

    name: str
    place: SourceLocation
    more_asks_less: bool = False
    negated: bool = False


def _lowered(
    before: Sequence[AssertionSpec], after: Sequence[AssertionSpec], group: _Group
) -> Iterator[Lowered]:
    """Pair the assertions: equal ones first, then the likest of the same type; the rest is gone."""
    before, after = _worth_a_look(before, after)
    were, are = [*map(_meaning, before)], [*map(_meaning, after)]
    old = [one for one, meant in zip(before, were, strict=True) if meant not in are]
    new = [one for one, meant in zip(after, are, strict=True) if meant not in were]
    for was in old:
        now = _likest(was, new)
        if now is not None:
            new.remove(now)
            yield from _changed(was, now, group)
        elif not group.more_asks_less:
            what = f"assertion {_called(was)} of {group.name} dropped"
            yield Lowered.at(group.place, what)
    for added in new if group.more_asks_less else ():
        what = f"assertion {_called(added)} of {group.name} added, so that more passes"
        yield Lowered.at(added.place, what)


def _changed(was: AssertionSpec, now: AssertionSpec, group: _Group) -> Iterator[Lowered]:
    rubric, reworded = was.options.get("rubric"), now.options.get("rubric")
    if rubric != reworded:
        before, after = excerpts(rubric, reworded)
        what = f"rubric of {group.name} reworded"
        yield Lowered.at(now.place, what, before, after)
    old = {key: value for key, value in was.options.items() if key != "rubric"}
    new = {key: value for key, value in now.options.items() if key != "rubric"}
    about = f"assertion {_called(was)} of {group.name}"
    if old != new:
        before, after = excerpts(old, new)
        yield Lowered.at(now.place, f"{about} changed", before, after)
    if was.own and now.own and was.own.digest != now.own.digest:
        yield Lowered.at(now.place, f"files of {about} changed")
    if was.script and now.script and was.script != now.script:
        yield Lowered.at(now.place, f"scripted model of {about} changed")
    for key, one, other in (
        ("weight", was.weight, now.weight),
        ("required", was.required, now.required),
        ("severity", was.severity, now.severity),
    ):
        if one != other:
            what = f"{key} of {about}"
            yield Lowered.at(now.place, what, _shown(one), _shown(other))
    if was.parts or now.parts:
        inside = _Group(
            name=f"`{now.type}` of {group.name}",
            place=now.place,
            more_asks_less=(now.type == _ANY) is not group.negated,
            negated=group.negated is not (now.type == _NOT),
        )
        yield from _lowered(was.parts, now.parts, inside)


def _shown(value: object) -> str:
    """Return the value of a key; an assertion without a severity has that of its fixture."""
    if value is None:
        return "the fixture's"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _worth_a_look(
    before: Sequence[AssertionSpec], after: Sequence[AssertionSpec]
) -> tuple[Sequence[AssertionSpec], Sequence[AssertionSpec]]:
    """Return them without those that stand unchanged where they stood and are like no other."""
    if len(before) != len(after):
        return before, after
    pairs = [(was, now, _is_plainly(was, now)) for was, now in zip(before, after, strict=True)]
    types = {one.type for was, now, same in pairs if not same for one in (was, now)}
    left = [(was, now) for was, now, same in pairs if not same or was.type in types]
    return [was for was, _ in left], [now for _, now in left]


def _is_plainly(one: AssertionSpec, other: AssertionSpec) -> bool:
    """Whether two assertions ask the same, as far as a quick look tells."""
    return one is other or (
        not (one.parts or other.parts)
        and (one.type, one.turn, one.weight, one.severity, one.axis)
        == (other.type, other.turn, other.weight, other.severity, other.axis)
        and (one.own, one.script) == (other.own, other.script)
        and repr(one.options) == repr(other.options)  # which tells 1 from true
    )


def _likest(was: AssertionSpec, candidates: Sequence[AssertionSpec]) -> AssertionSpec | None:
    """Return the assertion that `was` has become: of its type, and about the same thing if told.

    Of combinators, the one that has most parts in common.
    """
    alike = [one for one in candidates if (one.type, one.turn) == (was.type, was.turn)]
    if was.parts:
        return max(alike, key=lambda one: _shared(was, one), default=None)
    same = [one for one in alike if _subject(one) == _subject(was)]
    if same:
        return same[0]
    return alike[0] if alike and len(candidates) == len(alike) == 1 else None


def _shared(one: AssertionSpec, other: AssertionSpec) -> int:
    theirs = [*map(_meaning, other.parts)]
    return sum(_meaning(part) in theirs for part in one.parts)


def _called(assertion: AssertionSpec) -> str:
    subject = _subject(assertion)
    called = f"{assertion.type} {subject}" if subject else assertion.type
    return f"{called} in turn {assertion.turn}" if assertion.turn else called


def _subject(assertion: AssertionSpec) -> str:
    for key in _NAMING:
        if key in assertion.options:
            value = assertion.options[key]
            return json_text(value)
    return ""


def _meaning(assertion: AssertionSpec) -> str:
    return canonical_json(assertion.meaning)


def same_test(before: Fixture, after: Fixture) -> bool:
    """Whether a trial of one is a trial of the other: equal input, assertions and tool answers.

    What describes a fixture (labels, kind, description, origin) and where it stands do not matter.
    Of sealed ones only the salted digest counts: whether a plain text is the sealed one is what a
    guess would ask.
    """
    if before.digest == after.digest:
        return True
    if is_sealed(before.path) or is_sealed(after.path):
        return False
    plain = ("input", "turns", "severity", "shadow_tools", "tool_replay")  # what differs here
    if any(getattr(before, key) != getattr(after, key) for key in plain):  # differs as JSON, too
        return False
    if _ground(before) != _ground(after):
        return False
    asked = [one.options for one in after.assertions]
    if any(one.options not in asked for one in before.assertions):  # differs as JSON, too
        return False
    return _test(before) == _test(after)


def lowered_in_fixture(before: Fixture, after: Fixture) -> Iterator[Lowered]:
    """Yield what `after` asks less than `before`, or differently."""
    if is_sealed(before.path) or is_sealed(after.path):
        what = f"what the fixture {before.name} asks, which is sealed"
        yield Lowered.at(after.place, what)
        return
    about = {"fixture": before.name, "family": before.family} if before.family else {}
    for one in _lowered_fixture(before, after):
        yield one.replace(**about) if about else one


def _lowered_fixture(before: Fixture, after: Fixture) -> Iterator[Lowered]:
    name = before.name
    if DEFAULT_WEIGHTS[after.severity] < DEFAULT_WEIGHTS[before.severity]:
        yield Lowered.at(
            after.place, f"severity of fixture {name}", before.severity, after.severity
        )
    for key, old, new in (
        ("input", before.input, after.input),
        ("turns", before.turns, after.turns),
        ("reference", before.reference, after.reference),
        ("playground", before.playground, after.playground),
        ("toolReplay", before.tool_replay, after.tool_replay),
        ("shadowTools", before.shadow_tools, after.shadow_tools),
    ):
        if old != new:
            was, now = excerpts(_plain(old), _plain(new))
            yield Lowered.at(after.place, f"{key} of fixture {name}", was, now)
    if before.playground == after.playground and _ground(before) != _ground(after):
        yield Lowered.at(after.place, f"files of the playground of fixture {name} changed")
    group = _Group(f"fixture {name}", after.place)
    yield from _lowered(before.assertions, after.assertions, group)


def _ground(fixture: Fixture) -> tuple[object, str]:
    return fixture.playground, fixture.ground.digest if fixture.ground else ""


def _test(fixture: Fixture) -> tuple[object, ...]:
    return (
        canonical_json(fixture.input.model_dump(mode="json")),
        fixture.turns,
        fixture.reference and canonical_json(fixture.reference.model_dump(mode="json")),
        tuple(sorted(canonical_json(one.meaning) for one in fixture.assertions)),
        fixture.severity,
        canonical_json([one.model_dump(mode="json") for one in fixture.tool_replay]),
        fixture.shadow_tools,
    )


def _plain(value: object) -> JsonValue:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_defaults=True) if dump else str(value)


NAMES_SHOWN = 5


def weaker_agents(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[Lowered]:
    """Yield every Agent that is measured and that head runs on less than the merge-base did.

    A scripted model says what a file of the change says, and the gate's own loop runs no line of a
    program: neither tells how the Agent that is deployed would answer.
    """
    for new, old in _modified(head, base, tip, changes):
        yield from _scripted(new, old)
        if new.runtime_type == MODEL_RUNTIME and old.runtime_type != MODEL_RUNTIME:
            yield Lowered.at(
                _place(new, "spec.runtime"),
                f"Agent {new.name} is no longer run as the program that it was",
                old.runtime_type,
                new.runtime_type,
            )


def _scripted(new: Agent, old: Agent) -> Iterator[Lowered]:
    """Real model to scripted: the first one, or one more that may answer in its place."""
    was, now = _first(old), _first(new)
    if was is None or script_name(was) is not None:
        return
    before, after = old.asked_models, new.asked_models
    added = [name for name in after if script_name(name) is not None and name not in before]
    if added or (now is not None and script_name(now) is not None):
        yield Lowered.at(
            _place(new, "spec.models", "spec.uses"),
            f"real model of Agent {new.name} replaced by a scripted one",
            ", ".join(before),
            ", ".join(after),
        )


def _first(agent: Agent) -> str | None:
    return next(iter(agent.spec.models), None)


def narrowed_closures(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[Lowered]:
    """Yield every Agent that is measured and no longer depends on files that are still there.

    This change is measured with all of them, but for those that it turns into manifests, which no
    candidate gets. A later one to such a file would not be, though the program that is started
    could read it.
    """
    for new, old in _modified(head, base, tip, changes):
        lost = _lost(new, old, head, base)
        if lost:
            names = listing([*map(show_path, lost)], NAMES_SHOWN)
            noun = "file" if len(lost) == 1 else "files"
            yield Lowered.at(
                _place(new, "spec.watch", "spec.runtime"),
                f"Agent {new.name} no longer depends on {len(lost):,} {noun}: {names}",
            )


def _lost(new: Agent, old: Agent, head: Snapshot, base: Snapshot) -> list[str]:
    ours, theirs = closure_of(new, head), closure_of(old, base)
    lost = set(_lost_prompt(new, old, head, base))
    if not new.starts_process:
        return sorted(lost)
    hides_no_more = head.once("hides", base, lambda: head.manifest_paths <= base.manifest_paths)
    if ours.same_paths(theirs) and hides_no_more:
        return sorted(lost)
    before = {
        path
        for path in closure_paths(theirs, head)
        if path in base.tree or not head.is_hidden(path)
    }
    return sorted((lost | before) - set(closure_paths(ours, head)) - {prompt_path(new)})


def _lost_prompt(new: Agent, old: Agent, head: Snapshot, base: Snapshot) -> Iterator[str]:
    """A prompt file that stays where it was while the manifest moves, or names a copy of it.

    Another prompt in another file is an edit like any other, and measured.
    """
    path = prompt_path(old)
    if path is None or path == prompt_path(new) or path not in head.tree:
        return
    if new.path != old.path or system_text(new, head) == system_text(old, base):
        yield path


def _modified(
    head: Snapshot, base: Snapshot, tip: Snapshot, changes: Iterable[AgentChange]
) -> Iterator[tuple[Agent, Agent]]:
    """Yield the measured Agents that the change modifies, each as it is on head and at the base."""
    measured = {one.target_agent for side in (head, tip) for one in side.catalogue.evals}
    for change in changes:
        if change.kind is ChangeKind.MODIFIED and change.agent in measured:
            new, old = head.catalogue.agent(change.agent), base.catalogue.agent(change.agent)
            if new is not None and old is not None:
                yield new, old


def _place(agent: Agent, *keys: str) -> SourceLocation:
    return next((agent.places[key] for key in keys if key in agent.places), agent.place)
