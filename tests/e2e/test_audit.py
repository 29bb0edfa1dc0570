"""`gateval audit` on real repositories: what it prints, and its exit codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.domain.audit import AuditEntry
from gateval.publish.audit import append_entry
from tests.helpers.audit_events import event
from tests.helpers.command import ROOT, gateval
from tests.helpers.hostile import ATTACK
from tests.helpers.remotes import cloned, everything
from tests.helpers.repo import Repo
from tests.helpers.runner_log import commands


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Repo, Repo]:
    return cloned(tmp_path)


def record(repo: Repo, *texts: str) -> list[AuditEntry]:
    with open_repository(repo.path, repo.env).records(repo.env) as records:
        return [append_entry(records, event(text)) for text in texts]


def spoil(repo: Repo, old: str, new: str) -> None:
    """Change the log at the remote as somebody with a clone would."""
    repo.git("fetch", "--quiet", "origin", "gateval-audit:gateval-audit")
    repo.checkout("gateval-audit")
    log = (repo.path / "audit.jsonl").read_text()
    assert old in log
    repo.write("audit.jsonl", log.replace(old, new))
    repo.commit()
    repo.git("push", "--quiet", "origin", "gateval-audit")
    repo.checkout("main")
    repo.git("branch", "--quiet", "-D", "gateval-audit")
    repo.git("update-ref", "-d", "refs/remotes/origin/gateval-audit")


def test_a_log_that_is_only_at_the_remote(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    entries = record(repo, "First", "Second")
    repo.git("update-ref", "-d", "refs/remotes/origin/gateval-audit")
    before = everything(repo.path)
    shown = gateval(repo, "audit", "log")
    assert shown.returncode == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["1", "2"]
    assert 'reason "Second"' in shown.stdout
    assert f"Reading gateval-audit of {origin.path.as_uri()}, commit" in shown.stderr
    verified = gateval(repo, "audit", "verify", "--anchor", entries[0].hash)
    assert verified.returncode == 0
    assert verified.stdout == (
        f"The audit log is whole: 2 entries, newest hash {entries[1].hash}.\n"
        "The anchor is entry 1; 1 came after it.\n"
    )
    assert everything(repo.path) == before


def test_the_clones_own_copy_is_read_without_the_remote(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    (entry,) = record(repo, "Kept here")
    repo.git("fetch", "--quiet", "origin")
    origin.path.rename(origin.path.with_name("gone.git"))
    found = gateval(repo, "audit", "log", "--json")
    assert found.returncode == 0
    assert AuditEntry.model_validate(json.loads(found.stdout)) == entry
    assert "Reading refs/remotes/origin/gateval-audit of this clone" in found.stderr
    there = gateval(repo, "audit", "verify", "--remote", "origin")
    assert there.returncode == 3
    assert "there is no such repository" in there.stderr


def test_in_a_bare_clone(clone: tuple[Repo, Repo], tmp_path: Path) -> None:
    """Where people look after many repositories there is often no working tree."""
    repo, origin = clone
    (entry,) = record(repo, "Kept here")
    bare = Repo.clone(origin.path, tmp_path / "copy.git", "--bare")
    for where in ((), ("--remote", "origin")):
        shown = gateval(bare, "audit", "log", *where)
        assert (shown.returncode, shown.stdout.count("Kept here")) == (0, 1), shown.stderr
        verified = gateval(bare, "audit", "verify", "--anchor", entry.hash, *where)
        assert verified.returncode == 0, verified.stderr
    mirror = Repo.clone(origin.path, tmp_path / "mirror.git", "--mirror")
    assert gateval(mirror, "audit", "verify").returncode == 0


def test_since(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    record(repo, "First")
    assert gateval(repo, "audit", "log", "--since", "2026-11-21").stdout
    assert gateval(repo, "audit", "log", "--since", "2026-11-21T13:05:00Z").stdout
    assert not gateval(repo, "audit", "log", "--since", "2026-11-21T13:05:01Z").stdout
    done = gateval(repo, "audit", "log", "--since", "yesterday")
    assert done.returncode == 2
    assert '"yesterday" is no date. Write 2026-11-20, or' in done.stderr


def test_without_a_remote_it_says_where_logs_are(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "alone")
    for command in ("log", "verify"):
        done = gateval(repo, "audit", command)
        assert done.returncode == 3
        assert "has no remote origin; the audit log and other records are kept" in done.stderr
        assert "--remote NAME|URL" in done.stderr


def test_a_log_that_was_changed(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    record(repo, "First", "Second", "Third")
    spoil(repo, "Second", "Secret")
    verified = gateval(repo, "audit", "verify")
    assert verified.returncode == 1
    assert verified.stdout.startswith("The audit log is broken at entry 2: the entry was changed")
    shown = gateval(repo, "audit", "log")
    assert shown.returncode == 1
    assert 'reason "First"' in shown.stdout
    assert "Secret" not in shown.stdout
    assert "Third" not in shown.stdout


def test_a_log_that_was_cut_off_or_deleted(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    entries = record(repo, "First", "Second")
    origin.git("update-ref", "refs/heads/gateval-audit", "gateval-audit~1")
    assert gateval(repo, "audit", "verify").returncode == 0
    cut = gateval(repo, "audit", "verify", "--anchor", entries[1].hash.upper())
    assert cut.returncode == 1
    assert "it was cut off, written anew or deleted" in cut.stdout
    origin.git("update-ref", "-d", "refs/heads/gateval-audit")
    assert gateval(repo, "audit", "verify", "--anchor", entries[1].hash).returncode == 1


def test_no_log_yet(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    shown = gateval(repo, "audit", "log")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "Nothing has been recorded yet" in shown.stderr
    assert gateval(repo, "audit", "verify").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("verify", "--anchor", "abc"), 2, "64 hexadecimal digits"),
        (("verify", "--remote", "x", "--ref", "y"), 2, "exclude each other"),
        (("log", "--remote", "upstream"), 3, "has no remote upstream"),
        (("log", "--ref", "refs/heads/none"), 3, "There is no refs/heads/none"),
        (("log", "--ref", "a\nb"), 2, "cannot be the name"),
    ],
)
def test_what_cannot_be_done(
    clone: tuple[Repo, Repo], arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = gateval(clone[0], "audit", *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_password_in_the_remotes_url_is_not_shown(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    repo.git("remote", "set-url", "origin", "http://ada:s3cret-token@127.0.0.1:1/o/r")
    done = gateval(repo, "audit", "log")
    assert done.returncode == 3
    assert "127.0.0.1:1/o/r" in done.stderr
    assert "s3cret" not in done.stderr + done.stdout
    assert "ada" not in done.stderr


def test_hostile_entries_do_nothing_to_terminal_and_runner(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    with open_repository(repo.path, repo.env).records(repo.env) as records:
        append_entry(records, event(text=ATTACK))
    for arguments in ((), ("--json",)):
        shown = gateval(repo, "audit", "log", *arguments)
        assert shown.returncode == 0
        assert shown.stdout.count("\n") == 1
        assert shown.stdout.strip().isprintable()
        assert commands(shown.stdout + shown.stderr) == []


def test_the_script_of_the_guide_verifies_without_gateval(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    entries = record(repo, "First", "Zweitens: Ü 😀")
    guide = (ROOT / "docs/guides/audit.md").read_text(encoding="utf-8")
    script = guide.split("```python\n")[1].split("```")[0]

    def verify() -> subprocess.CompletedProcess[str]:
        log = origin.git("show", "gateval-audit:audit.jsonl")
        return subprocess.run(
            ["python3", "-c", script],
            input=log.decode(),
            capture_output=True,
            text=True,
            check=False,
        )

    assert verify().stdout == f"2 entries, newest {entries[1].hash}\n"
    spoil(repo, "First", "Forst")
    assert verify().returncode == 1
    assert "entry 1" in verify().stderr
