"""Tokens and models of a run. What nobody counted stays unknown; it never becomes zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateval.domain.decision.report import Report
from gateval.domain.manifests.embedding import embedded
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Side, Trial
from gateval.render.report.words.plan_wording import models_needed


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
        noun = "trial" if self.unknown == 1 else "trials"
        return f"{sums}, unknown for {self.unknown} {noun}" if self.unknown else sums


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


class AgentUsage(NamedTuple):
    """The usage of one Agent's trials: on head, on base, and by what measures both: judges, and
    models for embeddings.
    """

    agent: str
    head: Tokens
    base: Tokens
    judge: Tokens


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
    trials: dict[str, list[Trial]] = {agent: [] for agent in agents.values()}
    for trial in report.results.trials:
        trials[agents[trial.key.eval]].append(trial)
    return tuple(
        AgentUsage(
            agent,
            count_tokens(t.usage for t in mine if t.key.side is Side.HEAD),
            count_tokens(t.usage for t in mine if t.key.side is Side.BASE),
            count_tokens(t.judge_usage for t in mine if _was_judged(t, judged)),
        )
        for agent, mine in trials.items()
    )


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
