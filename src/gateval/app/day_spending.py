"""What the runs of a day spent in this clone, in a file beside the findings of earlier checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gateval.adapters.git.repository import GitRepository
from gateval.adapters.machine import SystemClock, show_here
from gateval.app.run.context import taken_by
from gateval.app.run.measure import memory_file
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.spending import Allowance, RunSpending, accounts, allowed
from gateval.domain.results.results import RunInfo
from gateval.domain.results.resume import Resumed
from gateval.errors import UsageError
from gateval.settings import FINDINGS, Settings

_NAME = "spending.txt"
_MOST = 1024 * 1024


class DaySpending:
    """The account of today in this clone, as one run uses it."""

    def __init__(self, repository: GitRepository, settings: Settings) -> None:
        self._where = repository, settings
        self._today = SystemClock().utc_now()[:10]
        self._mine: RunSpending | None = None

    def says(self, plan: Plan) -> str:
        """Say what today's runs here spent; empty without a limit. Raises `UsageError`."""
        found = accounts(plan.policy.budget, self._today, None)
        return "".join(f"here, {one.says(self._changed(None))}" for one in found)

    def opened(self, plan: Plan, run: str, resumed: Resumed) -> Plan:
        """Enter a run with all that it may take; return the plan with what the day leaves it.

        What was `resumed` is paid already. Raises `UsageError` where nothing can be entered.
        """
        mine = accounts(plan.policy.budget, self._today, None)
        if not mine or not plan.evals:
            return plan
        most, found = plan.policy.budget.usd, list[Allowance]()

        def enter(known: Sequence[RunSpending]) -> RunSpending:
            found.append(allowed(most, [(one, known) for one in mine]))
            return RunSpending(run=run, usd=found[-1].usd)

        self._mine = self._changed(enter)[-1]
        kept = taken_by((*resumed.kept.measured, *resumed.kept.to_judge))[1].usd
        return plan.replace(allowance=found[-1].beside(kept))

    def close(self, info: RunInfo) -> None:
        """Write down what the run took. Raises `UsageError` where that cannot be."""
        if self._mine is not None and info.usd is not None:
            ended = self._mine.replace(usd=info.usd, ended=True)
            self._changed(lambda _: ended)

    def _changed(
        self, make: Callable[[Sequence[RunSpending]], RunSpending] | None
    ) -> list[RunSpending]:
        """Return today's runs, with the one that `make` makes of the others in place of its own."""
        found = list[RunSpending]()

        def edit(content: bytes) -> bytes:
            known = list(self._read(content))
            if make is not None:
                mine = make(known)
                known = [*(one for one in known if one.run != mine.run), mine]
            found[:] = known
            return "".join(f"{self._today} {one}\n" for one in known).encode()

        file = memory_file(*self._where, _NAME)
        try:
            if make is None:
                edit(file.read(_MOST))
            else:
                file.change(edit, _MOST)
        except OSError as error:
            raise self._unfit(f"cannot be written ({error.strerror})") from error
        return found

    def _read(self, content: bytes) -> Iterator[RunSpending]:
        for line in content.decode("ascii", "replace").splitlines():
            day, _, entry = line.partition(" ")
            read = RunSpending.parse(entry)
            if read is None:
                raise self._unfit("is damaged")
            if day == self._today:
                yield read

    def _unfit(self, why: str) -> UsageError:
        path = show_here(memory_file(*self._where, _NAME).path)
        return UsageError(
            f"The policy limits what a day may spend, and {path}, where that stands, {why}.",
            hint=f"Mend or remove it, or name another folder with {FINDINGS}.",
        )
