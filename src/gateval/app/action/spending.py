"""Enters what a run may spend in the accounts of its pull request and its day, before it asks a
model, and what it took afterwards.

An entry is a check run of ours on the commit of the default branch that wrote the gate config last:
no pull request moves it, nobody but our own App can change it, and none can delete it. What is
kept in git, comments and artifacts says nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.app.action.context import ActionEvent
from gateval.app.action.earlier_runs import said_by
from gateval.app.run.context import taken_by
from gateval.domain.forge.check_run import TITLE_LIMIT, CheckReport, Conclusion
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.spending import Account, Allowance, RunSpending, accounts, allowed
from gateval.domain.results.results import RunInfo
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
    wanted = min(one.usd for one in mine) if budget.usd is None else budget.usd
    try:
        anchor = _anchor(event, plan)
        made = [
            (forge.create_check_run(anchor, _report(event, one, wanted)).number, one)
            for one in mine
        ]
        known = [(one, _before(event, anchor, one, number)) for number, one in made]
        found = allowed(budget.usd, known)
        if found.usd < wanted:
            for number, one in made:
                forge.update_check_run(number, _report(event, one, found.usd))
    except GatevalError as error:
        why = f"What other runs spent cannot be counted, so none is allowed. {said_by(error)}"
        return Entries(Allowance(usd=0, told=why))
    kept = taken_by((*resumed.kept.measured, *resumed.kept.to_judge))[1].usd
    return Entries(found.beside(kept), made)


def closed(event: ActionEvent, entries: Entries, info: RunInfo) -> str:
    """Write down what the run took; return a line for the log if that failed: then all that it was
    given stays counted, as it does where what it took would tell of something sealed.
    """
    if info.usd is None:
        return ""
    try:
        for number, one in entries.made:
            report = _report(event, one, info.usd, ended=True)
            event.context.forge.update_check_run(number, report)
    except GatevalError as error:
        return f"What this run spent could not be written down. {said_by(error)}"
    return ""


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


def _report(
    event: ActionEvent, account: Account, usd: float, *, ended: bool = False
) -> CheckReport:
    stamp = event.target.stamp
    what = "took" if ended else "may take"
    entry = RunSpending(run=f"{stamp.run}.{stamp.attempt}", usd=usd, ended=ended)
    return CheckReport(
        name=_name(account),
        external_id=str(stamp),
        details_url=event.target.details_url,
        started_at=stamp.started,
        conclusion=Conclusion.NEUTRAL,
        title=label(f"Run {entry.run} {what} {show_usd(usd)}", TITLE_LIMIT),
        summary=markdown("The gate counts these by {}.", code(account.key, 100)),
        text=str(entry),
    )
