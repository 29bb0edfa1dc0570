"""What `check` found regressed here before: applied to a plan, and kept of a report."""

from __future__ import annotations

from pathlib import Path

from gateval.adapters.clock import SystemClock
from gateval.adapters.findings_file import FindingsFile
from gateval.adapters.folders import real_path
from gateval.adapters.git import GitRepository
from gateval.adapters.shown_paths import show_here
from gateval.domain.decision.report import Report
from gateval.domain.history.local_findings import (
    BYTES_READ,
    LocalFindings,
    measured_anew,
    new_findings,
    read_findings,
    write_findings,
)
from gateval.domain.history.standing import with_standing
from gateval.domain.plan.plan import Plan
from gateval.errors import UsageError
from gateval.render.report.words.counts import count
from gateval.settings import FINDINGS, Settings

GIT_FOLDER = "gateval"


class LocalMemory:
    """The findings of earlier checks in this clone; `told` are sentences about them, for people.

    It only adds reds, so a memory that cannot be read or written is told and stops nothing.
    """

    def __init__(self, file: FindingsFile) -> None:
        self._file = file
        self.told: list[str] = []

    def applied(self, plan: Plan, *, fresh: bool) -> Plan:
        """Return the plan with what stands; with `fresh`, with a sentence that it does not."""
        found = self._read().remembered
        if fresh:
            return measured_anew(plan, found)
        plan = with_standing(plan, found)
        if many := len({one.fixture for planned in plan.evals for one in planned.standing}):
            self.told.append(
                f"{count(many, 'fixture')} regressed in an earlier check of the same, which stands "
                f"({show_here(self._file.path)}); --fresh measures anew."
            )
        return plan

    def keep(self, report: Report) -> None:
        """Keep what a report found."""
        found = new_findings(report, SystemClock().utc_now())
        if not found:
            return
        try:
            self._file.change(
                lambda before: write_findings([*read_findings(before).found, *found]), BYTES_READ
            )
        except OSError as error:
            self.told.append(
                f"What regressed could not be kept in {show_here(self._file.path)} "
                f"({error.strerror}), so the next check measures it anew."
            )

    def _read(self) -> LocalFindings:
        try:
            found = read_findings(self._file.read(BYTES_READ))
        except OSError as error:
            self.told.append(
                f"{show_here(self._file.path)} cannot be read ({error.strerror}), so what earlier "
                "checks found is not known. Remove it, and it is written anew."
            )
            return LocalFindings(())
        if found.broken:
            self.told.append(
                f"{show_here(self._file.path)} is damaged: {count(found.broken, 'line')} of it "
                "cannot be read, and what earlier checks found there is not known. Remove it, or "
                "bring an older one back."
            )
        return found


def local_memory(repository: GitRepository, settings: Settings) -> LocalMemory:
    """Return the memory of this clone, or the one that the environment names.

    Raises `UsageError` for a folder in which git has files: a change could bring its own.
    """
    if not settings.findings:
        folder = repository.common_folder / GIT_FOLDER
        return LocalMemory(FindingsFile(repository.common_folder, folder, hidden=False))
    root = repository.root.resolve()
    try:
        folder = real_path(root, root / settings.findings)
    except OSError as error:
        raise _unfit(f"a link leads there ({error.filename})") from error
    inside = folder.is_relative_to(root)
    if folder == root or (inside and repository.tracks(folder.relative_to(root))):
        raise _unfit("git tracks files there, which a change may have brought")
    return LocalMemory(FindingsFile(root, folder, hidden=inside and not _in_git(folder, root)))


def _in_git(folder: Path, root: Path) -> bool:
    return folder.relative_to(root).parts[0] == ".git"


def _unfit(why: str) -> UsageError:
    return UsageError(
        f"Earlier findings cannot be kept in the folder that {FINDINGS} names: {why}.",
        hint="Name a folder outside of the repository, or one that git ignores.",
    )
