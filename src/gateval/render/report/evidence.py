"""The evidence behind the numbers: who saw the steps of the trials, and doubts about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gateval.domain.decision.evidence import EVIDENCE_CODES
from gateval.domain.decision.report import Report
from gateval.domain.trials.trial import Side, Trial
from gateval.render.report.words.counts import count, listing

_MORE_TIME = (
    "What was measured until then is shown. Give it more (`max-minutes`), or let more trials run "
    "side by side (`execution.parallel`)."
)

_MORE_MONEY = (
    "What was measured until then is shown. Plan fewer repetitions, or give a run more in the gate "
    "config of the target branch."
)

_SOURCES = {
    "gateway": "read off its model calls",
    "gate": "from the gate's own loop",
    "candidate": "claimed by the candidate",
    "answer": "none, only the answer",
}


def doubts_on_evidence(report: Report) -> Sequence[str]:
    """Return what a reader has to know before the numbers, as sentences."""
    reasons = [one.text for one in report.decision.reasons if one.code in EVIDENCE_CODES]
    if report.results.info.ended:
        reasons.insert(0, f"{report.results.info.ended} {_MORE_TIME}")
    if report.results.info.over_budget:
        reasons.insert(0, f"{report.results.info.over_budget} {_MORE_MONEY}")
    return [*dict.fromkeys(reasons), *_no_calls(report), *_claims(report), *_any_model(report)]


def trace_sources(report: Report) -> Sequence[str]:
    """Return where the traces of each Agent come from, a line each."""
    lines = []
    for agent, sides in _by_agent(report).items():
        parts = [f"{side} {_counted(trials)}" for side, trials in sides.items() if trials]
        if parts:
            lines.append(f"Traces of {agent}: {'; '.join(parts)}")
    return lines


def _counted(trials: Sequence[Trial]) -> str:
    counts = Counter(trial.trace.source for trial in trials if trial.trace)
    said = [f"{_SOURCES[source]} ({count(n, 'trial')})" for source, n in sorted(counts.items())]
    return listing(said, 4)


def _no_calls(report: Report) -> Iterator[str]:
    """An Agent that names a model, and asked none where the gate could see it."""
    plan = report.results.plan
    for agent, sides in _by_agent(report).items():
        for side, trials in sides.items():
            defined = plan.agent(agent, side)
            seen = sum(t.trace.model_calls for t in trials if t.trace and t.trace.is_seen)
            if trials and defined is not None and defined.models and not seen:
                yield (
                    f"0 model calls of {agent} on {side} reached the gateway, though its manifest "
                    f"names {defined.models[0]}."
                )


def _claims(report: Report) -> Iterator[str]:
    for agent, sides in _by_agent(report).items():
        claimed = sum(
            any(one.claimed for one in trial.assessments)
            and not (trial.trace and trial.trace.is_partly_seen)
            for trial in sides[Side.HEAD]
        )
        if claimed:
            yield (
                f"What {agent} did in {count(claimed, 'trial')} on head is claimed by the "
                "candidate itself; the gate did not see it."
            )


def _any_model(report: Report) -> Iterator[str]:
    """A program that calls models, and names none: it may ask whatever the gate has keys for."""
    plan = report.results.plan
    for agent, sides in _by_agent(report).items():
        asked = {name for t in sides[Side.HEAD] if t.trace for name in t.trace.models}
        defined = plan.agent(agent, Side.HEAD)
        if asked and defined is not None and not (defined.models or defined.uses):
            yield (
                f"{agent} names no model in its manifest, so it may ask for any. It asked for "
                f"{listing(sorted(asked), 4)}; name them in `spec.models` or `spec.uses`."
            )


def _by_agent(report: Report) -> dict[str, dict[Side, list[Trial]]]:
    """The answered trials of each Agent by side, head first, in the plan's order."""
    agents = {planned.name: planned.agent for planned in report.results.plan.evals}
    found: dict[str, dict[Side, list[Trial]]] = {
        agent: {Side.HEAD: [], Side.BASE: []} for agent in agents.values()
    }
    for trial in report.results.trials:
        if trial.output is not None:
            found[agents[trial.key.eval]][trial.key.side].append(trial)
    return found
