"""The one command that does the same again on a reader's own machine."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence

from gateval.domain.base import is_sha, known_of_last
from gateval.domain.decision.decision import Report
from gateval.domain.plan.plan import Plan
from gateval.domain.results.comparison import FixtureStatus
from gateval.domain.verdicts import GateVerdict, ReasonCode
from gateval.render.report.facts import FixtureFacts, gather, with_status

_DIGITS = 12
"""Digits shown of a commit's id: they fit a line, and no two commits of a repository share them."""


def reproduce_command(plan: Plan) -> str:
    """Return the command line; names are quoted for a POSIX shell, not sanitised."""
    if plan.base is not None:
        kept, total = plan.coverage
        words = [*_check(plan), *(_only(plan) if kept < total else ())]
    elif plan.evals or plan.sealed:
        names = (one.name for evals in (plan.evals, plan.sealed) for one in evals)
        words = ["gateval", "run", *names]
        words += [word for name in plan.only for word in ("--fixture", name)]
        words += [] if plan.head.worktree else ["--rev", _name(plan.head.commit)]
    else:
        words = ["gateval", "plan"]
    return shlex.join(words)


def one_fixture_command(plan: Plan, fact: FixtureFacts) -> str:
    """Return the command line that measures just this fixture again; otherwise the same."""
    planned, fixture = fact.planned, fact.fixture.name
    one = ("--fixture", fixture)
    if plan.base is None:
        rev = () if plan.head.worktree else ("--rev", _name(plan.head.commit))
        return shlex.join(("gateval", "run", planned.own_name, *one, *rev))
    of = ("--eval", planned.own_name) if len(_evals_by_fixture(plan)[fixture]) > 1 else ()
    return shlex.join((*_check(plan), *of, *one))


@known_of_last
def _evals_by_fixture(plan: Plan) -> Mapping[str, set[str]]:
    """Return the own names of the Evals that have a fixture: a page asks for each of them."""
    having = defaultdict[str, set[str]](set)
    for one in plan.evals:
        for fixture in one.fixtures:
            having[fixture.name].add(one.own_name)
    return having


def after_check(report: Report, results: str = "") -> tuple[str, Sequence[str]]:
    """Return what to do after a check, as a sentence, and the commands that do it.

    `results` is the path of its folder, if somebody chose that.
    """
    plan, decision = report.results.plan, report.decision
    if decision.evals is GateVerdict.PASS:
        return ("commit it and push." if plan.head.worktree else "push it."), ()
    codes = [one.code for one in decision.reasons if one.verdict is decision.evals]
    if set(codes) <= {ReasonCode.LEFT_OUT}:
        return "measure all that the change calls for:", [shlex.join(_check(plan))]
    if set(codes) <= _LATER:
        return "once it answers again, run the same again:", [reproduce_command(plan)]
    facts = gather(report)
    found = [one for status in _WORTH_A_LOOK for one in with_status(facts, status)]
    if not found:
        return "mend what the first line says, and run the same again:", [reproduce_command(plan)]
    name = found[0].fixture.name
    look = ["gateval", "show", *([results] if results else []), name]
    again = [] if results else ["gateval check --failed"]
    then = "; then measure again what did not pass:" if again else ":"
    return f"see what {name} did, and mend it{then}", [shlex.join(look), *again]


_LATER = {ReasonCode.PROVIDER_ERROR, ReasonCode.JUDGE_ERROR, ReasonCode.BASELINE_ERROR}
_WORTH_A_LOOK = (
    FixtureStatus.SILENT,
    FixtureStatus.REGRESSED,
    FixtureStatus.FAILING,
    FixtureStatus.UNMEASURED,
)


def _check(plan: Plan) -> list[str]:
    head = "WORKTREE" if plan.head.worktree else _name(plan.head.commit)
    base = _name(plan.base.commit if plan.base else None)
    return ["gateval", "check", "--base", base, "--head", head]


def _only(plan: Plan) -> list[str]:
    names = dict.fromkeys(one.own_name for one in plan.evals)
    names |= dict.fromkeys(one.own_name for one in plan.sealed)
    words = [word for name in names for word in ("--eval", name)]
    if any(one.left_out for one in plan.evals) or any(one.left_out for one in plan.sealed):
        fixtures = dict.fromkeys(fixture.name for one in plan.evals for fixture in one.fixtures)
        fixtures |= dict.fromkeys(name for one in plan.sealed for name in one.fixtures)
        words += [word for name in fixtures for word in ("--fixture", name)]
    return words


def _name(commit: str | None) -> str:
    if commit is None:
        return "HEAD"
    return commit[:_DIGITS] if is_sha(commit) else commit
