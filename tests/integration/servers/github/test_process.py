"""The server as a process: it tells where it is, and at the end what happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import github

from tests.servers.github.server import GitHubServer

ROOT = Path(__file__).parents[4]


def scene(server: GitHubServer) -> dict[str, str]:
    """A repository and a token for it."""
    repo = server.world.repository("acme/shop")
    return {"token": server.world.workflow_token(repo, contents="read")}


def test_it_serves_until_its_input_closes_and_tells_of_breaches() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.servers.github", f"{__name__}:scene", "--enterprise"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        auth = github.Auth.Token(told["token"])
        with github.Github(base_url=told["api_url"], auth=auth, retry=None) as client:
            assert client.get_repo("acme/shop").full_name == "acme/shop"
            wrong = {"per-page": "1"}
            client.requester.requestJsonAndCheck("GET", "/repos/acme/shop/pulls", parameters=wrong)
        rest, _ = process.communicate()
    summary = json.loads(rest)
    assert [entry["path"] for entry in summary["requests"]] == [
        "/repos/acme/shop",
        "/repos/acme/shop/pulls",
    ]
    assert "no query parameter 'per-page'" in summary["broken"][0]
    assert process.returncode == 1
