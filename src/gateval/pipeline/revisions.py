"""Which revisions a question is about: head, the live base tip, and their merge-base."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateval.errors import RepositoryError, StageFileError, UsageError
from gateval.pipeline.reading import reading

if TYPE_CHECKING:
    from gateval.domain.plan.plan import Plan, Revision
    from gateval.ports.repository import Repository

WORKTREE = "WORKTREE"


@dataclass(frozen=True)
class Revisions:
    """Head, where it left from (`base`, the merge-base), and the tip that rules come from.

    `landed` says that head is on the target branch already, and `base_tip` what it was before.
    """

    head: Revision
    base: Revision
    base_tip: Revision
    landed: bool = False


def find_head(repository: Repository, name: str | None) -> Revision:
    """Resolve head; without a name, the working tree if it has changes, else HEAD."""
    if name == WORKTREE or (name is None and repository.has_changes()):
        return repository.worktree()
    return repository.resolve("HEAD" if name is None else name)


def find_base_tip(repository: Repository, name: str | None) -> Revision:
    """Resolve the base tip; without a name, the tip of the default branch.

    Raises `UsageError` when there is no telling which branch that is. An empty name is no absent
    one: a script whose variable was not set must not be measured against something else.
    """
    found = repository.default_branch() if name is None else name
    if found is None:
        from gateval.domain.setup.diagnosis import NAME_THE_BASE

        raise UsageError("There is no telling which branch is the default one.", hint=NAME_THE_BASE)
    return repository.resolve(found)


@reading
def find_revisions(repository: Repository, *, base: str | None, head: str | None) -> Revisions:
    """Resolve all three revisions of a change. Raises `UsageError` or `RepositoryError`.

    Looking through the working tree takes git a while, so the rest goes on meanwhile.
    """
    with ThreadPoolExecutor(1) as aside:
        looking = aside.submit(repository.has_changes) if head is None else None
        commit = repository.resolve("HEAD" if head in {None, WORKTREE} else str(head))
        tip = find_base_tip(repository, base)
        repository.tree(commit)
        ancestor = common_ancestor(repository, tip, commit)
        changed = looking.result() if looking else head == WORKTREE
    ours = repository.worktree() if changed else commit
    return Revisions(ours, ancestor, tip)


def confirm_revisions(repository: Repository, plan: Plan) -> None:
    """See that the commits of a plan from elsewhere are here and hold the trees it says.

    A decision names the commit, and candidates start from the tree: one must not be claimed and
    the other measured. Raises `StageFileError`, or `RepositoryError` when a commit is not here.
    """
    for revision in (plan.head, plan.base):
        if revision is None or revision.commit is None:
            continue
        if repository.resolve(revision.commit).tree != revision.tree:
            raise StageFileError(
                f"The plan says that {revision.short} holds the tree {revision.tree[:7]}, which is "
                "not so in this repository.",
                hint="Make the plan again, in this repository.",
            )


def common_ancestor(repository: Repository, tip: Revision, head: Revision) -> Revision:
    """Return the merge-base of two revisions, or the tip itself where there are several of them.

    Of several, no single one says what a merge would change: what is in head as it was in one of
    them may undo what the other brought. What equals the tip is not changed by any merge. Raises
    `RepositoryError` when they share none.
    """
    if tip.commit is None or head.commit is None or tip.commit == head.commit:
        return tip
    found = repository.merge_bases(tip.commit, head.commit)
    if not found:
        raise RepositoryError(
            f"{head.name} and {tip.name} share no history, so there is nothing to compare.",
            hint="Name another base: --base REV.",
        )
    return tip if len(found) > 1 or found[0] == tip.commit else repository.resolve(found[0])
