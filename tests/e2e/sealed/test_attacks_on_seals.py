"""Attacks on single sealed fixtures: what a candidate, or who reads the log, could tell of one."""

from __future__ import annotations

import socketserver
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.sealed.test_sealed_outcomes import on_branch, shop
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.sealed import KEY

TELLS = """import socket
with socket.create_connection(("127.0.0.1", PORT)) as away: away.sendall(str(number).encode())
"""


@contextmanager
def listener() -> Iterator[tuple[int, Counter[str]]]:
    """Somebody outside, whom candidates tell what they were asked: the port, and how often."""
    heard: Counter[str] = Counter()

    class Hears(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            heard[self.request.recv(16).decode()] += 1

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Hears) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], heard
        server.shutdown()


def asked(repo: Repo, out: Path, answers: str, heard: Counter[str], *words: str) -> dict[str, int]:
    """Check a change whose agent tells what it is asked; return how often each was."""
    heard.clear()
    name = f"next-{out.name}"
    on_branch(repo, name, answers)
    done = gateval(
        repo, "check", "--base", "main", "--head", name, "--results", str(out), *words, **KEY
    )
    assert done.returncode in {0, 1, 3}, done.stderr
    return {one: heard[one] for one in sorted(heard, key=int)}


@pytest.mark.parametrize("model", ["", ", model: weighted"])
def test_a_candidate_counts_how_often_it_is_asked_and_learns_nothing_of_one_fixture(
    tmp_path: Path, model: str
) -> None:
    repo = shop(tmp_path / "shop", model=model)
    with listener() as (port, heard):
        tells = TELLS.replace("PORT", str(port))
        counted = []
        for number in (2, 11):
            wrong = f'{tells}if number == {number}: good = "no"'
            counted.append(asked(repo, tmp_path / f"out-{number}", wrong, heard))
    plain = [one.pop("99") for one in counted]
    assert plain[0] == plain[1], "what the plain Eval asks is its own"
    assert counted[0] == counted[1]
    assert len(set(counted[0].values())) == 1, "all of them as often as the worst one"
    assert max(counted[0].values()) > 3, "more than planned, or this tells nothing"
