"""Enters what a run may spend in the accounts of its pull request and its day, before it asks a
model, and what it took afterwards.

An entry is a check run of ours on the commit of the default branch that wrote the gate config last:
no pull request moves it, nobody but our own App can change it, and none can delete it. What is
kept in git, comments and artifacts says nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gateval.adapters.run_notes import known_spent
from gateval.app.action.context import ActionEvent
from gateval.app.action.earlier_runs import said_by
from gateval.app.run.context import taken_by
from gateval.domain.forge.check_run import TITLE_LIMIT, CheckReport, Conclusion
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.plan.spending import (
    MOST_USD,
    Account,
    Allowance,
    RunSpending,
    accounts,
    allowed,
)
from gateval.domain.results.results import Results
from gateval.domain.results.resume import NOTHING_KEPT, Resumed
from gateval.domain.text import markdown, show_usd
from gateval.errors import GatevalError
from gateval.publish.check import is_ours
from gateval.safe.sanitize import code, label


class Entries(NamedTuple):
    """What one run may take, None where nothing limits it, and its entries by check run."""

    allowance: Allowance | None = None
    made: Sequence[tuple[int, Account]] = ()


def opened(event: ActionEvent, plan: Plan, resumed: Resumed = NOTHING_KEPT) -> Entries:
    """Enter a run in its accounts with all that it may take, then look at what others left of them.
    What was `resumed` is paid already.

    Entries made before it count, so that of two at once the later one sees what the earlier holds.
    Where no entry can be made, nothing may be spent.
    """
    budget, day = plan.policy.budget, event.context.clock.utc_now()[:10]
    mine = accounts(budget, day, event.resolved.number)
    if not mine or not plan.evals:
        return Entries()
    forge = event.context.forge
    wanted, name = min([budget.usd or MOST_USD, *(one.usd for one in mine)]), _own_name(event)
    made = list[tuple[int, Account]]()
    try:
        anchor = _anchor(event, plan)
        for one in mine:
            report = _report(event, one, RunSpending.of(name, wanted))
            made.append((forge.create_check_run(anchor, report).number, one))
        known = [(one, _before(event, anchor, one, number)) for number, one in made]
        found = allowed(budget.usd, known)
        if found.usd < wanted:
            for number, one in made:
                forge.update_check_run(number, _report(event, one, RunSpending.of(name, found.usd)))
    except GatevalError as error:
        why = f"What other runs spent cannot be counted, so none is allowed. {said_by(error)}"
        return Entries(Allowance(usd=0, told=why), made)
    kept = taken_by((*resumed.kept.measured, *resumed.kept.to_judge))[1].usd
    return Entries(found.beside(kept).replace(entered=f"{day} {name}"), made)


def closed(event: ActionEvent, entries: Entries, usd: float | None) -> str:
    """Write down what the run took; return a line for the log if that failed: then all that it was
    given stays counted, as it does where what it took would tell of something sealed.
    """
    if usd is None:
        return ""
    try:
        for number, one in entries.made:
            report = _report(event, one, RunSpending.of(_own_name(event), usd, ended=True))
            event.context.forge.update_check_run(number, report)
    except GatevalError as error:
        return f"What this run spent could not be written down. {said_by(error)}"
    return ""


@contextmanager
def closing_on_error(event: ActionEvent, entries: Entries, plan: Plan, run: Path) -> Iterator[None]:
    """Write down what the run in this folder may have taken, if an error ends the block."""
    try:
        yield
    except BaseException:
        closed(event, entries, None if kept_apart(plan) else known_spent(run))
        raise


def closed_later(event: ActionEvent, plan: Plan, stored: Results) -> str:
    """Write down what all jobs of a run took, in the entries of the one that planned it, which is
    of this run of the workflow; return a line for the log if that failed.
    """
    allowance, usd = stored.plan.allowance, stored.info.usd
    day, _, name = allowance.entered.partition(" ") if allowance else ("", "", "")
    if usd is None or name.partition(".")[0] != str(event.target.stamp.run):
        return ""
    forge, ended = event.context.forge, RunSpending.of(name, usd, ended=True)
    try:
        anchor = _anchor(event, plan)
        for one in accounts(plan.policy.budget, day, event.resolved.number):
            for check in forge.check_runs(anchor, _name(one)):
                made = RunSpending.parse(check.text) if is_ours(forge, check) else None
                if made is not None and made.run == name and not made.ended:
                    forge.update_check_run(check.number, _report(event, one, ended))
    except GatevalError as error:
        return f"What this run spent could not be written down. {said_by(error)}"
    return ""


def _own_name(event: ActionEvent) -> str:
    return f"{event.target.stamp.run}.{event.target.stamp.attempt}"


def _anchor(event: ActionEvent, plan: Plan) -> str:
    branch = event.trigger.default_branch
    tip = event.context.server.tip(branch) if branch else (plan.base_tip or plan.head).commit
    tip = tip or event.target.head
    return event.context.forge.last_commit(event.context.inputs.config, tip) or tip


def _name(account: Account) -> str:
    return f"gateval (spent by {account.name})"


def _before(
    event: ActionEvent, anchor: str, account: Account, number: int
) -> tuple[RunSpending, ...]:
    """Return the entries in an account that were made before this one."""
    forge = event.context.forge
    listed = forge.check_runs(anchor, _name(account))
    ours = [one for one in listed if one.number < number and is_ours(forge, one)]
    return tuple(read for one in ours if (read := RunSpending.parse(one.text)) is not None)


def _report(event: ActionEvent, account: Account, entry: RunSpending) -> CheckReport:
    stamp = event.target.stamp
    what = "took" if entry.ended else "may take"
    return CheckReport(
        name=_name(account),
        external_id=str(stamp),
        details_url=event.target.details_url,
        started_at=stamp.started,
        conclusion=Conclusion.NEUTRAL,
        title=label(f"Run {entry.run} {what} {show_usd(entry.usd)}", TITLE_LIMIT),
        summary=markdown("The gate counts these by {}.", code(account.key, 100)),
        text=str(entry),
    )
