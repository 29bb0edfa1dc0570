"""How far one fixture is: whether its rule has ended, and which trials it wants next.

The rule is that of `domain/statistics`, in the weighted model that of its room `graded`; here are
the exceptions from it. A deterministic candidate
needs no statistics. A head that gives no answer has a rule of its own (`silence`). A new fixture
that fails its first trial gets two more: two of three decide.

That is no matter of scores, so the rule for regressions is asked about answers in place of passes.
Until it is sure, a silent fixture gets more trials, so that an agent that crashes now and then, as
before, has the time to answer once.

Whether an Eval's fixtures, each a little worse, are worse together; and each axis.

Candidates that are known to do the same each time need no statistics here either: an axis that is
lower has regressed, if a second trial of each fixture agrees on each side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.planned_eval import CONFIRMING, Joint, PlannedEval, together_only
from gateval.domain.results.averages import Grouped, outcomes, too_many_lost
from gateval.domain.results.trial_verdict import Use, axis_grades, grade, grades
from gateval.domain.statistics.broad import CONFIRMING_TRIALS, Broad, broad_step, confirmed, first
from gateval.domain.statistics.design import Design, Look, LookResult, counted_only, design, step
from gateval.domain.statistics.design import design as rule_of
from gateval.domain.statistics.graded import (
    Axis,
    GradedRule,
    GradedWalk,
    Scores,
    axis_step,
    graded_broad_step,
    graded_rule,
    graded_walk,
    on_passes,
    watched_only,
)
from gateval.domain.statistics.walk import (
    FRESH,
    Outcomes,
    PassCount,
    Walk,
    borne_out,
    counted,
    same_walk,
    walk,
)
from gateval.domain.trials.trial import Side, Trial

SILENCE_SHARE = 0.1
"""The part of a fixture's share that its answers are tested with.

Answers and passes are nearly one thing, so so little keeps both together within the fixture's share
(ADR 19 has the figures).
"""


class Silence(NamedTuple):
    """How many trials a silent fixture wants, and whether head is known to have fallen silent."""

    wanted: Look
    proven: bool


def is_silent(trials: Sequence[Trial]) -> bool:
    """Whether the candidate is why none of the measured trials has an answer."""
    measured = [trial for trial in trials if trial.passed is not None]
    return bool(measured) and not any(trial.answered for trial in measured)


def answers(trials: Sequence[Trial]) -> int:
    """Return in how many of the measured trials the candidate gave an answer."""
    return sum(trial.answered for trial in trials if trial.passed is not None)


def repeats(trials: Sequence[Trial]) -> bool:
    """Whether none of the measured trials has an answer, each for a reason that another repeats."""
    return is_silent(trials) and all(t.repeats for t in trials if t.passed is not None)


def certain_silence(base: Sequence[Trial], head: Sequence[Trial]) -> Silence | None:
    """Return what is known of a head whose silence another trial repeats; None of any other.

    `base` is what was measured now. One answer of it decides, and so does one trial of it that
    fails for such a reason, too: then nothing is proven. Only a base that may answer the next time
    is asked again.
    """
    if not repeats(head):
        return None
    if answers(base) or repeats(base):
        return Silence(Look(base=1, head=1), proven=answers(base) > 0)
    wanted = max(len(base), 1)
    if base and not too_many_lost(outcomes(base)):
        wanted = max(wanted, CONFIRMING)
    return Silence(Look(base=wanted, head=1), proven=False)


def silence(design: Design | None, base: Sequence[Trial], head: Sequence[Trial]) -> Silence | None:
    """Return what is known of a silent head; None if it answered.

    One that went on and on is asked for nothing on its own account: another trial that ends at the
    limit of its turns tells no more, and is the dearest there is.
    Without a `design` three trials of each side decide. Where too many trials were lost, nothing
    more is asked for. Where base answers too seldom to be sure, nothing is proven in the end.
    """
    if not is_silent(head):
        return None
    endless = all(trial.endless for trial in head if trial.passed is not None)
    once = Look(base=1, head=1)
    least = once if endless else Look(base=CONFIRMING, head=CONFIRMING)
    enough = len(base) >= CONFIRMING and len(head) >= CONFIRMING
    if design is None or not answers(base):
        return Silence(least, proven=enough and answers(base) > 0)
    rule = rule_of(design.looks, design.share * SILENCE_SHARE)
    for index, look in enumerate(design.looks):
        if len(base) < look.base or len(head) < look.head:
            return Silence(once if endless else look, proven=False)
        old, new = base[: look.base], head[: look.head]
        if too_many_lost(outcomes(old)) or too_many_lost(outcomes(new)):
            return Silence(look, proven=False)
        if step(rule, index, answers(old), answers(new)) is LookResult.REGRESSED:
            return Silence(look, proven=True)
    return Silence(once if endless else design.looks[-1], proven=False)


def graded_rule_of(planned: PlannedEval) -> GradedRule:
    """Return the rule of the scores of an Eval's fixtures.

    A part of the share is left for their silence, which may be another thing than their scores.
    """
    if not planned.fixture_share:
        return watched_only(planned.first_look)
    share = planned.fixture_share * (1 - SILENCE_SHARE)
    return graded_rule(planned.looks, share, planned.scoring.pass_score)


AGREEING = 2
"""So many trials of each side have to agree before a candidate counts as deterministic."""


class FixtureProgress(NamedTuple):
    """Where a fixture stands.

    `wanted` are the trials of each side that have to be made; `walk` the way through its design,
    None where nothing is compared. `exact` says that the candidates proved to be deterministic,
    `fell_silent` that head gives no answer where base does, `outdated` that what is stored of base
    says regressed and base as it is now does not. In the weighted model `graded` is the way of its
    scores, and `rule` theirs; `walk` and `design` then say the same of its passes.
    """

    wanted: Look
    walk: Walk | None = None
    design: Design | None = None
    exact: bool = False
    fell_silent: bool = False
    outdated: bool = False
    graded: GradedWalk | None = None
    rule: GradedRule | None = None

    @property
    def regressed(self) -> bool:
        """Whether the fixture has regressed by itself."""
        return self.walk is not None and self.walk.step is LookResult.REGRESSED


class FixtureTestRules(NamedTuple):
    """What holds for all fixtures of an Eval; `design` is None where none is tested alone.

    `stored` is how many base trials are stored, by fixture; those have a design of their own.
    `together` are those that are tested with their family only; `quiet` is the design whose silence
    is looked for in these, `counted` the one that says when they end. `graded` is the rule of the
    fixtures' scores in the weighted model, None in the other.
    """

    planned: PlannedEval
    first: Look
    compared: frozenset[str]
    added: frozenset[str]
    design: Design | None
    together: frozenset[str] = frozenset()
    quiet: Design | None = None
    counted: Design | None = None
    stored: Mapping[str, int] = MappingProxyType({})
    graded: GradedRule | None = None

    def graded_of(self, fixture: str) -> GradedRule | None:
        """Return the rule of a compared fixture's scores, None in the model of passes."""
        if self.graded is None or fixture not in self.compared:
            return None
        return watched_only(self.first) if fixture in self.together else self.graded

    def design_of(self, fixture: str) -> Design | None:
        """Return the design of a compared fixture, None for others."""
        if fixture not in self.compared:
            return None
        many = self.stored.get(fixture, 0)
        if fixture in self.together:
            return counted_only(self.first_of(fixture)) if many else self.counted
        if self.design is None or not many:
            return self.design
        return design(self.planned.looks_with(many), self.planned.fixture_share)

    def first_of(self, fixture: str) -> Look:
        """Return the first look at a fixture: stored trials count there."""
        stored = self.stored.get(fixture, 0)
        return Look(base=max(self.first.base, stored), head=self.first.head)


def rules_of(planned: PlannedEval) -> FixtureTestRules:
    """Return the rules by which an Eval's fixtures are looked at."""
    measured = Side.BASE in planned.sides and planned.compared
    together = together_only(planned.fixtures, planned.compared) if measured else frozenset()
    silent = planned.silence_share / SILENCE_SHARE
    graded = graded_rule_of(planned) if measured and planned.scoring.graded else None
    alone = design(planned.looks, planned.fixture_share) if planned.fixture_share else None
    return FixtureTestRules(
        planned=planned,
        first=planned.first_look,
        compared=frozenset(planned.compared),
        added=frozenset(planned.added if planned.threshold is None else ()),
        design=(on_passes(graded) if graded else alone) if measured else None,
        together=together,
        quiet=design(planned.looks, silent) if together and silent else None,
        counted=counted_only(planned.first_look) if together else None,
        stored=planned.stored_counts(),
        graded=graded,
    )


def fixture_progress_of(
    rules: FixtureTestRules, fixture: Fixture, base: Sequence[Trial], head: Sequence[Trial]
) -> FixtureProgress:
    """Return where a fixture stands after these trials of both sides, each by repetition."""
    rule = rules.design_of(fixture.name)
    if rule is None:
        return _alone(rules, fixture, base, head)
    first, stored = rules.first_of(fixture.name), rules.stored.get(fixture.name, 0)
    old, new = outcomes(base), outcomes(head)
    if len(old) < first.base or len(new) < first.head:
        return FixtureProgress(first, same_walk(LookResult.GO_ON, first, **_counts(old, new)), rule)
    certain = certain_silence(base[stored:], head)
    if certain is not None:
        # no more of head, but base in this run: what it could before says nothing of a provider now
        wanted = larger(first, Look(base=stored + certain.wanted.base, head=1))
        step = LookResult.STOP if len(base) >= wanted.base else LookResult.GO_ON
        taken = same_walk(step, wanted, **_counts(outcomes(base), outcomes(head)))
        return FixtureProgress(wanted, taken, rule, fell_silent=certain.proven)
    if rules.planned.deterministic and not has_real_judge(rules.planned, fixture):
        scored = rules.graded_of(fixture.name)
        known = _deterministic(first, base, head, scored)
        if known is not None:
            return known._replace(design=rule, rule=scored)
    quiet_rule = rules.quiet if fixture.name in rules.together else rules.design
    quiet = silence(quiet_rule, base[stored:], head)
    fixture_progress = _by_scores(rules, fixture, base, head)
    if fixture_progress is None:
        passes = walk(rule, old, new)
        fixture_progress = FixtureProgress(passes.look, passes, rule)
    if stored and fixture_progress.regressed:
        return _borne_out(fixture_progress._replace(fell_silent=quiet is not None), old, stored)
    if quiet is None or fixture_progress.regressed:
        return fixture_progress._replace(fell_silent=quiet is not None)
    silent = quiet.wanted.replace(base=quiet.wanted.base + stored)
    wanted = silent if quiet.proven else larger(fixture_progress.wanted, silent)
    return fixture_progress._replace(wanted=wanted, fell_silent=quiet.proven)


def _by_scores(
    rules: FixtureTestRules, fixture: Fixture, base: Sequence[Trial], head: Sequence[Trial]
) -> FixtureProgress | None:
    """Return the course of a fixture's scores; None in the model of passes."""
    rule = rules.graded_of(fixture.name)
    if rule is None:
        return None
    scored = graded_walk(rule, grades(base), grades(head))
    look = scored.look
    counts = _counts(outcomes(base)[: look.base], outcomes(head)[: look.head])
    taken = same_walk(scored.step, look, **counts)
    return FixtureProgress(look, taken, rules.design_of(fixture.name), graded=scored, rule=rule)


def _borne_out(fixture_progress: FixtureProgress, base: Outcomes, stored: int) -> FixtureProgress:
    """Return the progress where stored base trials decide, checked by fresh trials of base."""
    walked = fixture_progress.walk
    if walked is None:
        return fixture_progress
    fresh = base[stored : max(walked.look.base, stored + FRESH)]
    if len(fresh) < FRESH:
        wanted = Look(base=stored + FRESH, head=walked.look.head)
        going_on = walked.replace(step=LookResult.GO_ON)
        return fixture_progress._replace(wanted=wanted, walk=going_on, fell_silent=False)
    wanted = larger(fixture_progress.wanted, Look(base=stored + FRESH, head=1))
    if borne_out(counted(fresh), walked.head):
        return fixture_progress._replace(wanted=wanted)
    stopped = walked.replace(step=LookResult.STOP)
    return fixture_progress._replace(wanted=wanted, walk=stopped, fell_silent=False, outdated=True)


def _alone(
    rules: FixtureTestRules, fixture: Fixture, base: Sequence[Trial], head: Sequence[Trial]
) -> FixtureProgress:
    """Return the course of a fixture that is not compared."""
    certain = certain_silence(base, head)
    if certain is not None:
        return FixtureProgress(rules.first, fell_silent=certain.proven)
    quiet = silence(None, base, head)
    if quiet is not None:
        return FixtureProgress(larger(rules.first, quiet.wanted), fell_silent=quiet.proven)
    if fixture.name in rules.added and outcomes(head)[:1] == [False]:
        return FixtureProgress(larger(rules.first, Look(base=1, head=CONFIRMING)))
    return FixtureProgress(rules.first)


def has_real_judge(planned: PlannedEval, fixture: Fixture) -> bool:
    """Whether a model that is not scripted judges each trial of this fixture."""
    return fixture.is_judged and not planned.judge.is_scripted


def _deterministic(
    first: Look, base: Sequence[Trial], head: Sequence[Trial], scored: GradedRule | None
) -> FixtureProgress | None:
    """Return the course where candidates do the same each time, None where they do not.

    By scores, head is worse where its first one is so much lower that it matters.
    """
    old, new = outcomes(base), outcomes(head)
    if None in (*old, *new):
        return None
    counts = _counts(old, new)
    if not alike(base) or not alike(head):
        return None
    quiet = is_silent(head) and not is_silent(base)
    same = new[0] or old[0] is new[0]
    if scored is not None:
        same = not scored.worse(*(grade(one[0], Use.HEAD) or 0.0 for one in (base, head)))
    if same and not (quiet and not new[0]):
        return FixtureProgress(first, same_walk(LookResult.STOP, first, **counts), exact=True)
    second = Look(base=max(AGREEING, first.base), head=max(AGREEING, first.head))
    if len(old) < AGREEING or len(new) < AGREEING:
        return FixtureProgress(second, same_walk(LookResult.GO_ON, second, **counts))
    taken = same_walk(LookResult.REGRESSED, second, **counts)
    return FixtureProgress(second, taken, exact=True, fell_silent=quiet)


def alike(trials: Sequence[Trial]) -> bool:
    """Whether all trials went the same way, step by step; false without any."""
    return len({_way(trial) for trial in trials}) == 1


def _way(trial: Trial) -> tuple[object, ...]:
    steps = trial.trace.steps if trial.trace else ()
    said = [f"{s.kind} {s.text} {s.tool} {s.arguments}" for s in steps]
    return (trial.outcome, trial.output, *said)


def _counts(base: Outcomes, head: Outcomes) -> dict[str, PassCount]:
    return {"base": counted(base), "head": counted(head)}


def larger(one: Look, other: Look) -> Look:
    """Return a look with the larger number of trials on each side."""
    base, head = max(one.base, other.base), max(one.head, other.head)
    return one if (one.base, one.head) == (base, head) else Look(base=base, head=head)


class AxisUnit(NamedTuple):
    """One fixture of an axis: the scores of its trials on both sides, by repetition."""

    base: Scores
    head: Scores
    alike: bool


def axis_units(planned: PlannedEval, test: Joint, trials: Grouped) -> list[AxisUnit]:
    """Return the fixtures of a test of one axis, without those that stand as regressed."""
    owners, known = planned.owners(), {one.fixture for one in planned.standing}
    units = []
    for name in test.fixtures:
        if name not in known:
            fixture = planned.fixture(name)
            old, new = (trials.get((owners[name], name, s), ()) for s in (Side.BASE, Side.HEAD))
            base, head = (axis_grades(test.axis, fixture, side) for side in (old, new))
            same = not has_real_judge(planned, fixture) and alike(old) and alike(new)
            units.append(AxisUnit(base, head, same))
    return units


def axis_slippage(
    planned: PlannedEval, test: Joint, trials: Grouped, *, found: bool
) -> Broad | None:
    """Return what the newest look says, None before the first; `found`: something blocks anyway."""
    units = axis_units(planned, test, trials)
    scores = [(one.base, one.head) for one in units]
    if not units or not _has(scores, test.looks[0]):
        return None
    if planned.deterministic and all(one.alike for one in units):
        base, head = (
            fsum(side[0] or 0.0 for side in sides) / len(scores)
            for sides in zip(*scores, strict=True)
        )
        worse = base - head >= test.least_drop
        step = LookResult.REGRESSED if worse else LookResult.STOP
        if worse and not _has(scores, Look(base=AGREEING, head=AGREEING)):
            step = LookResult.GO_ON
        p_value = 0.0 if step is LookResult.REGRESSED else 1.0
        return Broad(step=step, p_value=p_value, base=base, head=head, axis=test.axis, exact=True)
    axis = Axis(test.looks, test.share, test.least_drop)
    said = _newest(test, scores, lambda at: axis_step(axis, at, scores, found=found))
    return said.replace(axis=test.axis) if said else None


def _has(sides: Iterable[tuple[Scores, Scores]], look: Look) -> bool:
    """Whether every fixture has the trials of a look."""
    return all(len(base) >= look.base and len(head) >= look.head for base, head in sides)


def _newest(
    test: Joint, sides: Sequence[tuple[Scores, Scores]], step: Callable[[int], Broad]
) -> Broad | None:
    """Return what the newest look says that has its trials; none comes after one that ends it."""
    said: Broad | None = None
    for index, look in enumerate(test.looks):
        if not _has(sides, look):
            break
        said = step(index)
        if said.step is not LookResult.GO_ON:
            break
    return said


Stored: TypeAlias = Mapping[tuple[str, str], int]
"""How many base trials are stored, by the Eval that measures a fixture, and the fixture."""


def broad_slippage(
    planned: PlannedEval, trials: Grouped, stored: Stored, *, found: bool
) -> tuple[tuple[Joint, Broad | None], ...]:
    """Return what the newest look of each test of several fixtures says, None for nothing.

    Whole scores are looked at before each axis. `found` says that one of them has regressed by
    itself, so that the Eval blocks anyway.
    """
    tests = planned.joint_tests
    owners = planned.owners() if tests else {}
    say = _of_scores if planned.scoring.graded else _by_passes
    whole = [
        (test, say(test, _sides(planned, owners, test, trials), stored, found=found))
        for test in tests
        if not test.axis
    ]
    found |= any(said is not None and said.step is LookResult.REGRESSED for _, said in whole)
    axes = [(t, axis_slippage(planned, t, trials, found=found)) for t in tests if t.axis]
    return (*whole, *axes)


class _Sides(NamedTuple):
    """The trials of one fixture, named with the Eval that measures it."""

    name: tuple[str, str]
    base: Sequence[Trial]
    head: Sequence[Trial]


def _sides(
    planned: PlannedEval, owners: Mapping[str, str], test: Joint, trials: Grouped
) -> list[_Sides]:
    """The trials of the fixtures that take part: not those that stand as regressed."""
    known = {one.fixture for one in planned.standing}
    return [
        _Sides(
            (owners[name], name),
            *(trials.get((owners[name], name, side), ()) for side in (Side.BASE, Side.HEAD)),
        )
        for name in test.fixtures
        if name not in known
    ]


def _by_passes(
    test: Joint, sides: Sequence[_Sides], stored: Stored, *, found: bool
) -> Broad | None:
    """Return what the newest look says of passes; all that is stored of base counts.

    Where head is silent for a reason that another trial repeats, an answer of base decides.
    """
    sides = [one for one in sides if not repeats(one.head)]
    known = [stored.get(one.name, 0) for one in sides]
    both = [(outcomes(one.base), outcomes(one.head)) for one in sides]

    def step(at: int) -> Broad:
        look = test.looks[at]
        strata = [
            first(Look(base=max(look.base, many), head=look.head), *pair)
            for pair, many in zip(both, known, strict=True)
        ]
        drop = test.least_drop
        return broad_step(test.looks, at, strata, test.share, found=found, least_drop=drop)

    whole = [base for (base, _), many in zip(both, known, strict=True) if len(base) >= many]
    said = _newest(test, both, step) if len(whole) == len(both) else None
    if said is None:
        return None
    said = said.replace(family=test.family)
    if said.step is not LookResult.REGRESSED or not any(known):
        return said
    return _still_borne_out(said, test.looks[said.at], both, known)


def _still_borne_out(
    alarm: Broad, look: Look, sides: Sequence[tuple[Outcomes, Outcomes]], stored: Sequence[int]
) -> Broad:
    """Return what becomes of an alarm that rests on stored trials, once base as it is now is known.

    The first fresh trials of every fixture take part, whatever they were made for.
    """
    fresh = [
        (base[many : many + CONFIRMING_TRIALS], head[: look.head])
        for (base, head), many in zip(sides, stored, strict=True)
    ]
    if not _has(fresh, Look(base=CONFIRMING_TRIALS, head=1)):
        return alarm.replace(step=LookResult.GO_ON, confirming=True)
    if confirmed([(counted(base), counted(head)) for base, head in fresh]):
        return alarm
    return alarm.replace(step=LookResult.STOP, outdated=True)


def _of_scores(test: Joint, sides: Sequence[_Sides], _: Stored, *, found: bool) -> Broad | None:
    """Return what the newest look says of scores, none of which is stored."""
    units = [(grades(one.base), grades(one.head)) for one in sides]
    share, drop = test.share, test.least_drop
    said = _newest(
        test,
        units,
        lambda at: graded_broad_step(test.looks, at, units, share, found=found, least_drop=drop),
    )
    return said.replace(family=test.family) if said else None
