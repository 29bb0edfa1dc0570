"""Set-ups that outlive a run: made once, verified, bounded, and no way for a stranger to hand one over."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.users import BOTH_USERS, SAME_USER, Who, who

__all__ = ["who"]

MANIFESTS = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec:
  runtime:
    type: command
    setup: {run: [python3, install.py], inputs: [install.py, uv.lock], creates: [.venv]}
    command: [python3, agent.py]
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: says, labels: {agent: bot}}
spec:
  input: {type: prompt, payload: {prompt: Say it}}
  assertions: [{type: contains, value: version}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: bot-eval}
spec: {targetAgent: bot, fixtureSelector: {matchLabels: {agent: bot}}}
"""
INSTALL = """\
import os, pathlib, sys, time
at = pathlib.Path(".venv")
(at / "bin").mkdir(parents=True)
(at / "made").write_text(str(time.time_ns()))
(at / "lock").write_text(pathlib.Path("uv.lock").read_text())
(at / "here").write_text(str(at.resolve()))
(at / "bin/python").symlink_to(sys.executable)
(at / "bin/tool").write_text("x")
(at / "bin/tool").chmod(0o755)
"""
AGENT = """\
import os, pathlib
at = pathlib.Path(".venv")
try:
    (at / "mine").write_text("x")
    state = "WRITABLE"
except OSError:
    state = "read-only"
same = (at / "here").read_text() == str(at.resolve())
tool = os.access(at / "bin/tool", os.X_OK) and os.access(at / "bin/python", os.X_OK)
print((at / "lock").read_text(), (at / "made").read_text(), state, same, tool)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("bot.yaml", MANIFESTS)
    repo.write("install.py", INSTALL)
    repo.write("agent.py", AGENT)
    repo.write("uv.lock", "version 1")
    repo.commit()
    return repo


def said(repo: Repo, who: Who = SAME_USER, **extra: str) -> tuple[list[str], str]:
    """Run the Eval; return the words that the agent said, and what the gate told."""
    results = repo.path.parent / f"results-{os.urandom(4).hex()}"
    settings = {"GATEVAL_LAYERS": ".gateval/layers", **extra}
    done = who.run(repo, "run", "bot-eval", "--rev", "HEAD", "--results", str(results), **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = json.loads((results / "results.v1.json").read_text())["trials"]
    return trial["output"].split(), " ".join(done.stderr.split())


def made(words: list[str]) -> str:
    """When the layer was made that the agent saw; all else about it has to be right."""
    assert words[3:] == ["read-only", "True", "True"], words
    return words[2]


def files(repo: Repo) -> list[Path]:
    return sorted((repo.path / ".gateval/layers").glob("*.layer"))


def another_machine(repo: Repo) -> None:
    """Take away what only this machine has: the layers that lie ready."""
    found = list((repo.path.parent / "home").glob("gateval-layers-*"))
    assert found
    for folder in found:
        shutil.rmtree(folder)


def test_the_second_run_makes_nothing(repo: Repo, who: Who) -> None:
    first, second = (made(said(repo, who)[0]) for _ in range(2))
    assert first == second
    assert len(files(repo)) == 1
    assert repo.status() == b"", "nothing of it is in git's way"
    repo.write("uv.lock", "version 2")
    repo.commit()
    other, _ = said(repo, who)
    assert other[1] == "2"
    assert made(other) != first


def test_a_run_that_may_not_write_reads_only(repo: Repo) -> None:
    said(repo, GATEVAL_LAYERS_READ_ONLY="1")
    assert not (repo.path / ".gateval/layers").exists()
    first = made(said(repo)[0])
    (path,) = files(repo)
    before = path.stat()
    assert made(said(repo, GATEVAL_LAYERS_READ_ONLY="1")[0]) == first
    after = path.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    another_machine(repo)
    assert made(said(repo, GATEVAL_LAYERS_READ_ONLY="1")[0]) == first
    another_machine(repo)
    path.write_bytes(tampered(path.read_bytes()))
    assert made(said(repo, GATEVAL_LAYERS_READ_ONLY="1")[0]) != first
    assert files(repo) == [path]


def tampered(content: bytes) -> bytes:
    at = content.rindex(b"version 1")
    return content[:at] + b"version X" + content[at + 9 :]


@pytest.mark.drawn("change")
@pytest.mark.parametrize(
    "change",
    [tampered, lambda content: content[:-700], lambda _: b"", lambda content: b"0" * len(content)],
    ids=["tampered", "torn", "empty", "noise"],
)
def test_what_is_not_whole_is_made_anew_and_told(repo: Repo, change: object) -> None:
    first = made(said(repo)[0])
    (path,) = files(repo)
    another_machine(repo)
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    words, told = said(repo)
    assert words[1] == "1"
    assert made(words) != first
    assert "A kept set-up is not used and made anew: its content does not fit its digest." in told
    assert made(said(repo)[0]) == made(words), "the new one is kept"


def test_what_lies_ready_and_was_changed_is_put_back(repo: Repo) -> None:
    first = made(said(repo)[0])
    (lock,) = (repo.path.parent / "home").glob("gateval-layers-*/*/.venv/lock")
    lock.write_text("version X")
    words, _ = said(repo)
    assert words[1] == "1"
    assert made(words) == first


def test_a_layer_under_the_name_of_another_is_not_taken(repo: Repo) -> None:
    said(repo)
    (one,) = files(repo)
    repo.write("uv.lock", "version 2")
    repo.commit()
    said(repo)
    (two,) = set(files(repo)) - {one}
    two.write_bytes(one.read_bytes())
    words, told = said(repo)
    assert words[1] == "2"
    assert "it is not signed by the key of this gate" in told


def test_a_pull_request_cannot_bring_layers_in_git(repo: Repo) -> None:
    """The digest inside protects against accidents; whoever writes a file can write its digest."""
    said(repo)
    repo.git("add", "--force", ".gateval/layers")
    repo.git("commit", "--quiet", "--message=Poison")
    words, told = said(repo)
    assert "GATEVAL_LAYERS cannot be used" in told
    assert "a pull request may have brought" in told
    made(words)


@pytest.mark.parametrize("place", [".gateval", ".gateval/layers"])
def test_a_pull_request_cannot_bring_a_link_to_layers(repo: Repo, place: str) -> None:
    said(repo)
    elsewhere = repo.path.parent / "elsewhere"
    shutil.move(repo.path / place, elsewhere)
    repo.link(place, str(elsewhere))
    words, told = said(repo)
    assert "GATEVAL_LAYERS cannot be used" in told
    made(words)


def test_what_saw_a_secret_is_not_kept(repo: Repo) -> None:
    repo.write(".github/gateval.yml", "policy: {candidateEnv: [CRM_TOKEN]}\n")
    repo.commit()
    words, told = said(repo, CRM_TOKEN="hunter2-hunter2")
    made(words)
    assert "Set-ups are not kept for later runs: policy.candidateEnv hands them secrets" in told
    assert not (repo.path / ".gateval/layers").exists()


def test_a_layer_that_leans_on_a_changed_program_is_made_anew(repo: Repo) -> None:
    python = repo.path.parent / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    repo.write("install.py", INSTALL.replace("sys.executable", repr(str(python))))
    repo.commit()
    first = made(said(repo)[0])
    assert made(said(repo)[0]) == first
    python.write_text(f'#!/bin/sh\n# another\nexec "{sys.executable}" "$@"\n')
    words, told = said(repo)
    assert made(words) != first
    assert "leans on a program of this machine that has changed" in told


def test_the_least_recently_used_give_way(repo: Repo) -> None:
    big = INSTALL + '(at / "big").write_bytes(os.urandom(400 * 1024))\n'
    repo.write("install.py", big)
    for number in range(4):
        repo.write("uv.lock", f"version {number}")
        repo.commit()
        said(repo, GATEVAL_LAYERS_MIB="1")
    kept = files(repo)
    assert len(kept) == 2
    newest = made(said(repo, GATEVAL_LAYERS_MIB="1")[0])
    assert made(said(repo, GATEVAL_LAYERS_MIB="1")[0]) == newest
    repo.write("install.py", big.replace("400", "900"))
    repo.commit()
    _, told = said(repo, GATEVAL_LAYERS_MIB="1")
    assert "A set-up is not kept for later runs: it has over 0.5 MiB" in told
    assert files(repo) == kept


@BOTH_USERS
def test_candidates_do_not_reach_the_folder(repo: Repo, who: Who, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    spy = AGENT + (
        f"try:\n    for path in pathlib.Path({str(kept)!r}).glob('*.layer'): path.unlink()\n"
        "except OSError:\n    pass\n"
        f"try:\n    pathlib.Path({str(kept)!r}, '{'0' * 64}.layer').write_bytes(b'')\n"
        "    print('REACHED')\nexcept OSError:\n    pass\n"
    )
    repo.write("agent.py", spy)
    repo.commit()
    first = made(said(repo, who, GATEVAL_LAYERS=str(kept))[0])
    assert made(said(repo, who, GATEVAL_LAYERS=str(kept))[0]) == first
    assert len(list(kept.glob("*.layer"))) == 1


@pytest.mark.parametrize("size", ["0", "many", "-1"])
def test_a_bound_that_is_none(repo: Repo, size: str) -> None:
    done = gateval(repo, "run", "bot-eval", GATEVAL_LAYERS_MIB=size)
    assert done.returncode == 2
    assert "GATEVAL_LAYERS_MIB is no number of MiB" in done.stderr
