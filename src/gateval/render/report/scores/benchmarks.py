"""How runs of benchmarks ended, and their tasks: a sentence for each, in the document's words."""

from __future__ import annotations

from collections import Counter

from gateval.domain.decision.report import Report
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.lifecycle import BenchmarkRun, RunStatus, TaskPhase, run_of
from gateval.render.report.words.counts import count, listing

_NAMED = 3
"""Tasks that are named of those that were started and not completed."""


def benchmark_lines(report: Report) -> list[str]:
    """Return e.g. `desk@2: completed; 3 tasks: 1 pass, 1 partial, 1 fail, of these 1 timed out`."""
    results = report.results
    return [
        _line(planned, run_of(results, planned))
        for planned in results.plan.evals
        if planned.scoring.model.tasks
    ]


def _line(planned: PlannedEval, run: BenchmarkRun) -> str:
    total = count(len(run.tasks), "task")
    done = f"{run.completed} of {total} completed" if run.completed < len(run.tasks) else total
    said = f"{planned.shown_name}: {run.status.value.replace('_', ' ')}; {done}"
    verdicts = Counter(one.verdict for one in run.tasks)
    grades = [one.name for one in planned.scoring.model.grades]
    parts = [f"{verdicts[one]} {one}" for one in grades if verdicts[one]]
    lost = sum(one.phase is TaskPhase.COMPLETED and one.score is None for one in run.tasks)
    parts += [f"{lost} not measured"] if lost else []
    late = sum(one.status is RunStatus.TIMED_OUT and one.score is not None for one in run.tasks)
    parts += [f"{late} timed out"] if late else []
    said += f": {', '.join(parts)}" if parts else ""
    kept = run.status is not RunStatus.COMPLETED and run.completed
    said += "; what was completed is kept" if kept else ""
    begun = [one.task for one in run.tasks if one.phase is TaskPhase.STARTED]
    return f"{said}; started, not completed: {listing(begun, _NAMED)}" if begun else said
