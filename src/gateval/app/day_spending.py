"""What the runs of a day spent in this clone, in a file beside the findings of earlier checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gateval.adapters.git.repository import GitRepository
from gateval.adapters.machine import SystemClock, show_here
from gateval.adapters.results_folder import moment_token, run_id
from gateval.adapters.run_notes import known_spent
from gateval.app.run.context import taken_by
from gateval.app.run.measure import memory_file
from gateval.domain.manifests.gate_config import BudgetPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.plan.spending import Allowance, RunSpending, accounts, allowed
from gateval.domain.results.results import Results
from gateval.domain.results.resume import Resumed
from gateval.errors import GatevalError, UsageError
from gateval.settings import FINDINGS, Settings

_NAME = "spending.txt"
_MOST = 1024 * 1024


class DaySpending:
    """The account of today in this clone, as one run uses it."""

    def __init__(self, repository: GitRepository, settings: Settings) -> None:
        self._where = repository, settings
        now = SystemClock().utc_now()
        self._today, self._run = now[:10], run_id(now, moment_token())
        self._mine: RunSpending | None = None

    def says(self, plan: Plan) -> str:
        """Say what today's runs here spent; empty without a limit. Raises `UsageError`."""
        found = accounts(plan.policy.budget, self._today, None)
        return "".join(f"here, {one.says(self._changed(None))}" for one in found)

    def opened(self, plan: Plan, run: str, resumed: Resumed, *, later: bool = False) -> Plan:
        """Enter a run with all that it may take; return the plan with what the day leaves it.

        What was `resumed` is paid already; another job closes the entry `later`. Raises
        `UsageError` where nothing can be entered.
        """
        self._run = run
        found = self.allowed(plan.policy.budget) if plan.evals else None
        if found is None:
            return plan
        kept = taken_by((*resumed.kept.measured, *resumed.kept.to_judge))[1].usd
        entered = f"{self._today} {run}" if later else ""
        return plan.replace(allowance=found.beside(kept).replace(entered=entered))

    def allowed(self, budget: BudgetPolicy) -> Allowance | None:
        """Enter what asks models with all that it may take; return what the day leaves it, None
        without a limit. Raises `UsageError` where nothing can be entered.
        """
        mine = accounts(budget, self._today, None)
        if not mine:
            return None
        most, found = budget.usd, list[Allowance]()

        def enter(known: Sequence[RunSpending]) -> RunSpending:
            found.append(allowed(most, [(one, known) for one in mine]))
            return RunSpending.of(self._run, found[-1].usd)

        self._mine = self._changed(enter)[-1]
        return found[-1]

    def close(self, usd: float | None) -> None:
        """Write down what was taken, None where nobody may know. Raises `UsageError` where that
        cannot be.
        """
        if self._mine is not None and usd is not None:
            ended = RunSpending.of(self._mine.run, usd, ended=True)
            self._changed(lambda _: ended)

    @contextmanager
    def closing_on_error(self, run: Path) -> Iterator[None]:
        """Write down what the run in this folder may have taken, if the block raises an error."""
        try:
            yield
        except GatevalError:
            with suppress(UsageError):  # then all that it was given stays counted
                self.close(known_spent(run))
            raise

    def close_run(self, whole: Results) -> None:
        """Write down what a run took; nothing in CI, whose logs have readers, where it would tell
        of what is sealed.
        """
        apart = self._where[1].in_ci and kept_apart(whole.plan)
        self.close(None if apart else whole.info.usd)

    def close_later(self, allowance: Allowance | None, whole: Results) -> None:
        """Write down what all jobs of a run took, in the entry that another one made here today."""
        day, _, run = allowance.entered.partition(" ") if allowance else ("", "", "")
        if day == self._today and any(one.run == run for one in self._changed(None)):
            self._mine = RunSpending.of(run, 0.0)
            self.close_run(whole)

    def _changed(
        self, make: Callable[[Sequence[RunSpending]], RunSpending] | None
    ) -> list[RunSpending]:
        """Return today's runs, with the one that `make` makes of the others in place of its own."""
        found = list[RunSpending]()

        def edit(content: bytes) -> bytes:
            every = list(self._read(content))
            known = [one for day, one in every if day == self._today]
            if make is not None:
                mine = make(known)
                known = [*(one for one in known if one.run != mine.run), mine]
            found[:] = known
            kept = [(self._today, one) for one in known]
            kept += [(day, one) for day, one in every if day > self._today]  # begun after midnight
            return "".join(f"{day} {one}\n" for day, one in kept).encode()

        file = memory_file(*self._where, _NAME)
        try:
            if make is None:
                edit(file.read(_MOST))
            else:
                file.change(edit, _MOST)
        except OSError as error:
            raise self._unfit(f"cannot be written ({error.strerror})") from error
        return found

    def _read(self, content: bytes) -> Iterator[tuple[str, RunSpending]]:
        for line in content.decode("ascii", "replace").splitlines():
            day, _, entry = line.partition(" ")
            read = RunSpending.parse(entry)
            if read is None or not day:
                raise self._unfit("is damaged")
            yield day, read

    def _unfit(self, why: str) -> UsageError:
        path = show_here(memory_file(*self._where, _NAME).path)
        return UsageError(
            f"The policy limits what a day may spend, and {path}, where that stands, {why}.",
            hint=f"Mend or remove it, or name another folder with {FINDINGS}.",
        )
