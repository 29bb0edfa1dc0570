"""The merge queue: what GitHub tests before it merges."""

from __future__ import annotations

from dataclasses import dataclass

from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository


@dataclass(frozen=True)
class MergeGroup:
    """The base branch with these pull requests merged into it, in order."""

    repo: Repository
    pulls: tuple[Pull, ...]
    head_sha: str
    head_ref: str
    base_sha: str
    base_ref: str


def queue(*pulls: Pull, behind: MergeGroup | None = None) -> MergeGroup:
    """Put pull requests of a repository into its queue together, behind another group if given."""
    repo, branch = pulls[0].repo, pulls[0].base_ref
    base = behind.head_sha if behind else repo.branches[branch]
    name = f"gh-readonly-queue/{branch}/pr-{pulls[-1].number}-{base}"
    ref, head = f"refs/heads/{name}", base
    for pull in pulls:
        merged = repo.merge(head, pull.head_sha, ref, pull.merge_message)
        if merged is None:
            raise ValueError(f"#{pull.number} conflicts with the queue before it")
        head = merged
    repo.pushed(name, head, by=repo.world.user("github-merge-queue[bot]"))
    return MergeGroup(repo, pulls, head, ref, base, f"refs/heads/{branch}")
