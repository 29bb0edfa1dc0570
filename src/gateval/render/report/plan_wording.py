"""The views' words on a plan, whether it ran or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gateval.domain.base import known_of_last
from gateval.domain.calibration import CANARIES
from gateval.domain.history.forecast import Forecast, Ranges
from gateval.domain.manifests.catalogue import embedding_models
from gateval.domain.manifests.fixture import PREFERENCE, show_axis
from gateval.domain.manifests.gate_config import BudgetPolicy
from gateval.domain.plan.plan import Plan, SeenDrop
from gateval.domain.plan.planned_eval import PlannedEval, Removed
from gateval.domain.results.doubts import JudgeDigests, binding_now, replay_of
from gateval.domain.text import listing, show_usd
from gateval.render.report.wording import KindLabels, words_of


def revisions(plan: Plan) -> str:
    """Return what is compared with what."""
    tree = "the working tree, uncommitted changes included"
    head = tree if plan.head.worktree else plan.head.short
    return f"head: {head}; base: {plan.base.short if plan.base else 'not compared'}"


def removed_sentence(removed: Removed) -> str:
    """Return what head no longer evaluates, and where it stood."""
    place = f"{removed.place.file}:{removed.place.line}"
    of = f" of {removed.eval}" if removed.kind == "fixture" else ""
    return f"{removed.kind} {removed.name}{of}, which stood at {place}"


_ORDERS = 2
"""How often a judge is shown a pair of answers."""


def judge_questions(planned: PlannedEval) -> int:
    """Return the judge calls of an Eval when every trial is answered and no verdict repaired."""
    asked = sum(
        a.needs_judge and a.type != PREFERENCE
        for fixture in planned.own_fixtures
        for a in fixture.assertions
    )
    sides = len(planned.sides)
    pairs = len(planned.preferring & {one.name for one in planned.own_fixtures})
    return (asked * sides + _ORDERS * pairs) * planned.execution.reps_per_fixture


def outlook_lines(plan: Plan) -> tuple[str, ...]:
    """Return what repetitions may come on top, and what will not be seen."""
    from gateval.domain.results.outlook import outlook

    seen = outlook(plan)
    lines = []
    if seen.most > seen.planned:
        most = "" if plan.policy.budget.is_set else f", {seen.most:,} at most"
        lines.append(
            f"with repetitions where something looks worse: about {seen.expected:,} if nothing "
            f"changed{most}"
        )
    if seen.drop is not None:
        words = words_of(one.kind for one in plan.evals)
        lines.append(f"a drop in one {words.case} {_found(seen.drop, words)}")
    return (*lines, *_sees(plan), *_replays(plan), *budget_lines(plan))


_SEEN = 8
"""Evals, and axes of one, whose visible drops are told; `plan.v1` has all."""


def _sees(plan: Plan) -> Iterator[str]:
    """Yield for each Eval which drops are found, unless one sentence says it of the only one."""
    by_eval: dict[str, list[SeenDrop]] = {}
    for one in plan.sees:
        by_eval.setdefault(one.eval, []).append(one)
    if len(plan.sees) < 2:
        return
    for name, found in list(by_eval.items())[:_SEEN]:
        planned = plan.eval(name)
        words = words_of([planned.kind])
        said = [f"{_what(one, words)}: {_points(one)}" for one in found[: _SEEN + 2]]
        more = f"; {len(found) - len(said)} more axes in --json" if len(found) > len(said) else ""
        yield f"{planned.shown_name}, drops found in 4 of 5 cases: {'; '.join(said)}{more}"
    if len(by_eval) > _SEEN:
        yield f"and {len(by_eval) - _SEEN:,} more in --json"


def _what(seen: SeenDrop, words: KindLabels) -> str:
    if seen.of == "axis":
        return show_axis(seen.axis)
    if seen.of == "preference":
        return "preference"
    return f"one {words.case}" if seen.of == "one" else f"all {words.case}s together"


def _points(seen: SeenDrop) -> str:
    drop = seen.drop
    if drop is None:
        return "none, however large"
    if seen.of == "preference":
        return f"to a win rate of {50 - 100 * drop:.0f} % or less, a tie being half a win"
    return f"{100 * drop:.0f} points or more" if drop else "any"


_ATTACKS = "attacks"
"""Stands for their digest, which nothing here is compared with."""


def _attacks() -> int:
    from gateval.judging.laboratory import attack_questions

    return len(attack_questions([1]))


def _replays(plan: Plan) -> Iterator[str]:
    """Yield what judges are asked besides, so that their word counts."""
    known = [one for one in plan.agreements if one.can_be_watched]
    found = {
        bound.digest: (planned.calibration, bound)
        for planned in plan.evals
        if planned.wants_calibration and planned.calibration is not None
        if replay_of(planned, known) is None
        if (bound := binding_now(plan, planned, JudgeDigests("", _ATTACKS))) is not None
    }
    for calibration, bound in found.values():
        asked = len(calibration.examples)
        noun = "example" if asked == 1 else "examples"
        besides = f" and {_attacks()} attacks" if bound.attacks else ""
        of = f"{asked} {noun} of {calibration.name}{besides}"
        yield f"{bound.model} judges {of} before its word counts"
    for one in plan.agreements:
        if one.can_be_watched:
            yield (
                f"{one.binding.model} judges {CANARIES} examples of {one.calibration} that it was "
                "right about, to see that it still is"
            )


def budget_lines(plan: Plan) -> tuple[str, ...]:
    """Return what the budget takes away, and what that costs; nothing where there is none."""
    from gateval.domain.results.outlook import outlook

    budget = plan.policy.budget
    if not (budget.is_set and plan.evals):
        return ()
    lines = [_limits(budget)]
    if plan.allowance and plan.allowance.told:
        lines.append(plan.allowance.told.rstrip("."))
    for planned in plan.evals:
        if planned.repetitions_asked:
            kept, asked = planned.execution.reps_per_fixture, planned.repetitions_asked
            lines.append(f"it leaves {planned.shown_name} {kept} of {asked} repetitions")
    if budget.repetitions is not None:
        spare = budget.repetitions - plan.trial_count
        lines.append(_spare(spare))
        seen = outlook(plan)
        if seen.drop is not None and seen.free_drop is not None and seen.drop > seen.free_drop:
            words = words_of(one.kind for one in plan.evals)
            found = _found(seen.free_drop, words)
            lines.append(f"without it, a drop in one {words.case} {found}; that is its price")
    return tuple(lines)


def _limits(budget: BudgetPolicy) -> str:
    said = [
        f"{budget.repetitions:,} repetitions" if budget.repetitions is not None else "",
        f"{budget.tokens:,} tokens" if budget.tokens is not None else "",
        f"${budget.usd:g}" if budget.usd is not None else "",
        f"{budget.minutes:g} minutes" if budget.minutes is not None else "",
    ]
    several = (("pull request", budget.per_pull_request), ("day", budget.per_day))
    said += [f"${one.usd:g} a {name}" for name, one in several if one.usd is not None]
    then = "nothing is run again that looks worse, and the gate does not pass on it"
    dollars = "" if budget.usd is None else "; no call is made that may pass the dollars"
    return f"budget (policy.budget): {', '.join(filter(None, said))}; then {then}{dollars}"


def _spare(spare: int) -> str:
    if spare < 0:
        return (
            f"one trial of each fixture and side takes {-spare:,} more than the budget: those run, "
            "and nothing is run again"
        )
    return f"it leaves {spare:,} trials for what looks worse"


def _found(drop: float, words: KindLabels) -> str:
    if drop >= 1:
        return "will be found too seldom, however large it is; plan more repetitions"
    return f"is found in 4 of 5 cases if its {words.falls} falls by {100 * drop:.0f} points or more"


@known_of_last
def models_needed(plan: Plan) -> tuple[str, ...]:
    """Return the models that the planned agents declare first, their judges, and those by which
    likeness is measured, sorted.
    """
    names: set[str] = set()
    for planned in plan.evals:
        for side in planned.sides:
            definition = plan.agent(planned.agent, side)
            names.update(definition.models[:1] if definition else ())
        if judge_questions(planned):
            names.update(planned.judge.asked)
        names.update(embedding_models(planned.fixtures))
    return tuple(sorted(names - {""}))


_SHOWN = 3

_UNKNOWN = (
    "model calls, tokens, money and minutes: not known, no earlier run of these Evals is stored "
    "here"
)


def forecast_lines(found: Forecast, budget: BudgetPolicy) -> tuple[str, ...]:
    """Return what a plan will take, by earlier runs, or that nobody can know."""
    if not found.runs:
        return (_UNKNOWN,)
    said = [f"{found.calls:,.0f} model calls"]
    said.append(_about(found.tokens, found.least[0], "number of tokens", "{:,.0f} tokens".format))
    said.append(_about(found.usd, found.least[1], "cost", show_usd))
    said += [f"{found.minutes:.1f} minutes"] if found.minutes is not None else []
    lines = [f"by the last run ({listing(found.runs, _SHOWN)}), about {', '.join(said)}"]
    if found.ranges is not None:
        lines.append(_between(found.ranges))
    if found.unknown:
        lines.append(f"not in it, because no run of them is stored: {listing(found.unknown)}")
    return (*lines, *_over(found, budget))


def _between(found: Ranges) -> str:
    """Say between what earlier runs lie, a trial of each counted alike."""
    parts = [
        f"{found.calls.least:,.0f} to {found.calls.most:,.0f} model calls",
        found.tokens and f"{found.tokens.least:,.0f} to {found.tokens.most:,.0f} tokens",
        found.usd and f"{show_usd(found.usd.least)} to {show_usd(found.usd.most)}",
        f"{found.minutes.least:.1f} to {found.minutes.most:.1f} minutes",
    ]
    return f"by the last {found.runs} runs, {', '.join(filter(None, parts))}"


def _about(amount: float | None, least: float, what: str, show: Callable[[float], str]) -> str:
    """Return an amount; of one that is not known whole, what is known."""
    if amount is not None:
        return show(amount)
    return f"at least {show(least)}" if least else f"an unknown {what}"


def _over(found: Forecast, budget: BudgetPolicy) -> Iterator[str]:
    """Say where that is more than the budget: dollars end a run, and else what is planned runs."""
    for what, expected, limit, least in (
        ("tokens", found.tokens, budget.tokens, found.least[0]),
        ("money", found.usd, budget.usd, found.least[1]),
        ("minutes", found.minutes, budget.minutes, 0),
    ):
        if limit is None or (expected is not None and expected <= limit):
            continue
        if expected is None and least <= limit:
            yield f"whether the budget of {what} is kept is not known"
        elif what == "money":
            yield (
                "that is more than policy.budget.usd gives a run, which would end incomplete: plan "
                "fewer repetitions, or give it more"
            )
        else:
            yield (
                f"that is more than the budget of {what}; what is planned runs all the same: plan "
                "fewer repetitions, or set policy.budget.repetitions"
            )
