"""The default branch of a shop, with runs that measured it and uploaded what they found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.helpers.github_shop import GitHubShop
from tests.helpers.runner import Ended
from tests.helpers.shop import SCRIPT
from tests.servers.blob_store import BlobStore, archive
from tests.servers.github.state.actions import Artifact, WorkflowRun
from tests.servers.github.state.pull import Pull

WORKFLOW = ".github/workflows/agent-evals-baseline.yml"
CONFIG = "policy:\n  baseline: {repetitions: 10}\n"
SHAKY = SCRIPT.replace("- reply: Done.", "- reply: Done.\n    probability: 0.999")
"""A rule that may not hold: so the candidates are not taken for deterministic."""


class Main:
    """The default branch, whose runs upload what they measured."""

    def __init__(self, shop: GitHubShop, store: BlobStore) -> None:
        self.shop, self.store = shop, store
        shop.push_main(
            **{".github__gateval.yml": CONFIG, ".gateval__scripted__support.yaml": SHAKY}
        )

    def measured(
        self, run: int = 4711, ok: int = 0, env: Mapping[str, str] | None = None, **more: Any
    ) -> WorkflowRun:
        """A scheduled run on main, as GitHub tells of it, with its artifact; `env` is the job's."""
        sha = self.shop.repo.branches["main"]
        payload = {**self.shop.push_payload(), "schedule": "0 4 * * *"}
        job = self.shop.job("schedule", payload, sha=sha, run=run)
        job.check_out(self.shop.bare, "refs/heads/main")
        reference = f"acme/shop/{WORKFLOW}@refs/heads/main"
        ended = job.run_action(inputs={}, GITHUB_WORKFLOW_REF=reference, **(env or {}))
        assert ended.code == ok, ended.errors
        record = (ended.results / "run.v1.json").read_bytes()
        known = WorkflowRun(run, "schedule", "main", sha, WORKFLOW, "acme/shop")
        self.upload(known, record)
        for name, value in more.items():
            setattr(known, name, value)
        self.shop.repo.workflow_runs[run] = known
        return known

    def upload(self, run: WorkflowRun, record: bytes, name: str = "gateval-baseline") -> None:
        content = archive({"run.v1.json": record})
        place = self.store.put(content)
        run.artifacts.append(Artifact(900 + run.id, name, content, place))

    def gate(self, pull: Pull, **more: Any) -> Ended:
        """The gate's run on a pull request, with the whole history checked out."""
        token = self.shop.token(
            contents="write", pull_requests="write", checks="write", actions="read"
        )
        job = self.shop.on_pull(pull, token=more.pop("token", token))
        job.check_out(self.shop.bare, f"refs/pull/{pull.number}/merge", "--depth=1000")
        return job.run_action(**more)
