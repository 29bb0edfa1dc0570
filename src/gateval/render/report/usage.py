"""Tokens, money, time and models of a run. What nobody counted stays unknown, never zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from gateval.domain.base import known_of_last
from gateval.domain.decision.report import Report
from gateval.domain.manifests.fixtures.embedding import embedded
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.results.doubts.judges import replay_of
from gateval.domain.text.figures import show_usd
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Side, Trial
from gateval.render.report.words.counts import count, listing
from gateval.render.report.words.plan_wording import models_needed

_UNPRICED_SHOWN = 3


class Tokens(NamedTuple):
    """Tokens of several trials: the sums of what is known, and of how many trials it is not."""

    inputs: int
    outputs: int
    known: int
    unknown: int

    def __str__(self) -> str:
        if not self.known:
            return "unknown" if self.unknown else "none"
        sums = f"{self.inputs:,} in, {self.outputs:,} out"
        return f"{sums}, unknown for {count(self.unknown, 'trial')}" if self.unknown else sums


class Money(NamedTuple):
    """US dollars of several trials: the sum of what is known, and of how many trials it is not.

    `unpriced` are models without a known price.
    """

    usd: float
    known: int
    unknown: int
    unpriced: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.known + self.unknown:
            return "none"
        why = f" (no price of {listing(self.unpriced, _UNPRICED_SHOWN)})" if self.unpriced else ""
        if not self.known:
            return f"unknown{why}"
        rest = f", unknown for {count(self.unknown, 'trial')}{why}" if self.unknown else ""
        return f"{show_usd(self.usd)}{rest}"


class Spent(NamedTuple):
    """What several trials took; `seconds` is the mean time of an answer, None if there is none."""

    tokens: Tokens
    money: Money
    seconds: float | None = None

    @property
    def time(self) -> str:
        """The seconds per answer, as text."""
        return "none" if self.seconds is None else f"{self.seconds:.1f} s"


def count_tokens(usages: Iterable[Usage]) -> Tokens:
    """Sum what is known on both counts."""
    inputs = outputs = known = unknown = 0
    for usage in usages:
        if usage.input_tokens is None or usage.output_tokens is None:
            unknown += 1
        else:
            known += 1
            inputs += usage.input_tokens
            outputs += usage.output_tokens
    return Tokens(inputs, outputs, known, unknown)


def count_money(usages: Sequence[Usage]) -> Money:
    """Sum what has a price."""
    known = [usage.usd for usage in usages if usage.usd is not None]
    return Money(sum(known), len(known), len(usages) - len(known), add_usage(usages).unpriced)


class AgentUsage(NamedTuple):
    """The usage of one Agent's trials: on head, on base, and by what measures both: judges, and
    models for embeddings.
    """

    agent: str
    head: Spent
    base: Spent
    judge: Spent

    @property
    def sides(self) -> tuple[tuple[str, Spent], ...]:
        """Head, base and judge by name, without those that did nothing."""
        every = (("head", self.head), ("base", self.base), ("judge", self.judge))
        return tuple(one for one in every if one[1].money.known or one[1].money.unknown)


@known_of_last
def usage_by_agent(report: Report) -> tuple[AgentUsage, ...]:
    """Return the usage per Agent, in the order of the plan's Evals."""
    plan = report.results.plan
    agents = {planned.name: planned.agent for planned in plan.evals}
    judged = {
        (planned.name, fixture.name)
        for planned in plan.evals
        for fixture in planned.fixtures
        if any(assertion.needs_judge for assertion in fixture.assertions) or any(embedded(fixture))
    }
    replays = _replays_by_agent(report)
    trials: dict[str, list[Trial]] = {agent: [] for agent in agents.values()}
    for trial in report.results.trials:
        trials[agents[trial.key.eval]].append(trial)
    return tuple(
        AgentUsage(
            agent,
            _spent([t for t in mine if t.key.side is Side.HEAD]),
            _spent([t for t in mine if t.key.side is Side.BASE]),
            _counted(
                [t.judge_usage for t in mine if _was_judged(t, judged)] + replays.get(agent, [])
            ),
        )
        for agent, mine in trials.items()
    )


def _replays_by_agent(report: Report) -> dict[str, list[Usage]]:
    """What judges took for calibrations that this run replayed, by the first Agent of each."""
    found: dict[str, list[Usage]] = {}
    for one in report.results.calibrations:
        asked = (p for p in report.results.plan.evals if replay_of(p, (one,)) is one)
        planned = next(asked, None)
        if one.examples and planned is not None:
            found.setdefault(planned.agent, []).append(one.usage)
    return found


def mean_seconds(trials: Iterable[Trial]) -> float | None:
    """Return the mean time of an answer, without waits for providers; None without one."""
    seconds = [trial.own_seconds for trial in trials if trial.output is not None]
    return fmean(seconds) if seconds else None


def _spent(trials: Sequence[Trial]) -> Spent:
    return _counted([trial.spent for trial in trials])._replace(seconds=mean_seconds(trials))


def _counted(usages: Sequence[Usage]) -> Spent:
    return Spent(count_tokens(usages), count_money(usages))


def _was_judged(trial: Trial, judged: set[tuple[str, str]]) -> bool:
    """Whether the judge was asked: a trial without assessments never got that far."""
    return (trial.key.eval, trial.key.fixture) in judged and bool(trial.assessments)


def models_used(report: Report) -> tuple[str, ...]:
    """Return the models needed and those that answered, e.g. fallbacks, sorted."""
    answered = {
        name for trial in report.results.trials if trial.trace for name in trial.trace.models
    }
    return tuple(sorted(answered.union(models_needed(report.results.plan))))


def scripted_models(report: Report) -> tuple[str, ...]:
    """Return the scripted models among those used."""
    return tuple(n for n in models_used(report) if n.startswith(f"{SCRIPTED_PROVIDER}/"))
