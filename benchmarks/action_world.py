"""The GitHub that `action_entry` asks: the large repository, with pull requests to evaluate.

`open_pulls` is handed to `python -m tests.servers.github`, which serves it in a process of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.repository import BASE, HEAD

if TYPE_CHECKING:
    from tests.servers.github.server import GitHubServer
    from tests.servers.github.state.pull import Pull

WISHES = "GATEVAL_BENCHMARK_WORLD"
"""JSON: `git`, where the bare repository goes; and by kind of pull request, `sources`, repositories
whose branch `HEAD` is the change; `count` of each kind; `comments` on each."""

REPOSITORY = "acme/shop"
LABEL = "force-eval-bypass"
_ALL = {"contents": "write", "pull_requests": "write", "checks": "write"}


def open_pulls(server: GitHubServer) -> dict[str, Any]:
    """Set up the repository; tell Ada's token, and each pull request with tokens of two jobs."""
    wishes = json.loads(os.environ[WISHES])
    world = server.world
    repo = world.repository(REPOSITORY, git=Path(wishes["git"]))
    ada = repo.role(world.user("ada"), "maintain")
    sources = {kind: Path(source) for kind, source in wishes["sources"].items()}
    repo.push_from(next(iter(sources.values())), BASE, BASE, by=ada)
    told: dict[str, list[dict[str, Any]]] = {kind: [] for kind in sources}
    for kind, source in sources.items():
        for number in range(wishes["count"]):
            branch = f"{kind}-{number}"
            repo.push_from(source, HEAD, branch, by=ada)
            pull = repo.open_pull(branch, by=ada)
            for comment in range(wishes["comments"] - 1):
                pull.comment(f"Remark {comment}: fine by me.", by=ada)
            pull.comment(f"/{LABEL} Checkout is down.", by=ada)
            tokens = [world.workflow_token(repo, **_ALL) for _ in range(2)]
            told[kind].append(_told(pull, tokens))
    return {"ada": world.user_token(ada), "pulls": told}


def _told(pull: Pull, tokens: list[str]) -> dict[str, Any]:
    return {
        "number": pull.number,
        "head": pull.head_sha,
        "base": pull.base_sha,
        "merged": pull.merge_commit_sha,
        "tokens": tokens,
    }
