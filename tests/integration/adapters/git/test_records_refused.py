"""A remote that refuses is explained, and no secret is ever shown or readable by others."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.adapters.git.record_errors import PushRetries
from gateval.adapters.git.records import GitRecords, open_records
from gateval.adapters.git.run import Git
from gateval.errors import RecordsError, UsageError
from gateval.ports.storage import Edit, RecordFile
from tests.helpers.command import ROOT
from tests.helpers.remotes import cloned, everything, refuse_with
from tests.helpers.repo import Repo
from tests.servers.git_http import GitServer

LOG = RecordFile("refs/heads/gateval-audit", "audit.jsonl", 1_000_000, keeps_history=True)
HASTY = PushRetries(seconds=20, race_wait=0.001, outage_wait=0.01)
TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Repo, Repo]:
    return cloned(tmp_path)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path) as running:
        yield running


def records(repo: Repo, remote: str = "origin", token: str = "") -> GitRecords:
    near = Git(repo.path, repo.env)
    return open_records(near, repo.env, remote=remote, token=token, retries=HASTY)


def refused(found: GitRecords) -> RecordsError:
    with found, pytest.raises(RecordsError) as caught:
        found.change(LOG, lambda content: Edit(content + b"one\n", "Add a line"))
    shown = f"{caught.value.message} {caught.value.hint} {caught.value.__cause__!r}"
    assert TOKEN not in shown
    assert basic(TOKEN) not in shown
    return caught.value


def basic(token: str, user: str = "x-access-token") -> str:
    return base64.b64encode(f"{user}:{token}".encode()).decode()


def test_a_hook_that_refuses(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    refuse_with(origin, "Pushes need a ticket.\n::error::\x1b[31mforged")
    error = refused(records(repo))
    assert error.message == (
        f"Gateval cannot write refs/heads/gateval-audit at {origin.path.as_uri()}: "
        "a hook of the remote refused it (Pushes need a ticket)."
    )
    assert error.permission == ""
    assert origin.git("for-each-ref", LOG.ref) == b""


@pytest.mark.parametrize(
    "words",
    [
        "error: GH006: Protected branch update failed for refs/heads/gateval-audit.",
        "error: GH013: Repository rule violations found for refs/heads/gateval-audit.",
    ],
)
def test_a_protected_branch(clone: tuple[Repo, Repo], words: str) -> None:
    repo, origin = clone
    refuse_with(origin, words)
    error = refused(records(repo))
    assert "a rule protects it from this push (GH0" in error.message
    assert "Forbid force pushes and deletions only" in error.hint


def test_a_full_disk_at_the_remote(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    refuse_with(origin, "fatal: sha1 file write error: No space left on device")
    assert "a disk is full, here or there" in refused(records(repo)).message


NO_ROOM = """\
import os, sys, tempfile
from pathlib import Path
from tests.integration.adapters.git.test_records_refused import records, refused
from tests.helpers.repo import Repo

found = records(Repo.at(Path(sys.argv[1])))
os.rmdir(tempfile.gettempdir())  # known by now, and then it is gone
print(refused(found).message)
"""


def test_no_room_for_temporary_files(clone: tuple[Repo, Repo], tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(clone[0].path)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.strip()
    assert said.startswith("Gateval cannot write refs/heads/gateval-audit at file:///"), done.stderr
    assert said.endswith(": No such file or directory.")


def test_a_branch_that_keeps_moving(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    turns = 0

    def edit(content: bytes) -> Edit:
        nonlocal turns
        turns += 1
        repo.commit(f"Theirs {turns}")
        repo.git("push", "--quiet", "--force", "origin", "main:gateval-audit")
        return Edit(content + b"ours\n", "Add a line")

    short = HASTY._replace(attempts=3)
    with (
        open_records(Git(repo.path, repo.env), repo.env, retries=short) as found,
        pytest.raises(RecordsError, match="others kept writing at the same time"),
    ):
        found.change(LOG, edit)
    assert turns == 3


def test_a_remote_that_is_not_there(clone: tuple[Repo, Repo], tmp_path: Path) -> None:
    error = refused(records(clone[0], str(tmp_path / "nowhere.git")))
    assert "there is no such repository" in error.message


def test_a_remote_without_a_name(clone: tuple[Repo, Repo]) -> None:
    with pytest.raises(RecordsError, match="has no remote upstream"):
        records(clone[0], "upstream")


@pytest.mark.parametrize("url", ["ext::sh -c 'touch /tmp/ran'%", "--upload-pack=x/y", "a/b\n"])
def test_urls_that_are_none(clone: tuple[Repo, Repo], url: str) -> None:
    with pytest.raises((RecordsError, UsageError)), records(clone[0], url) as found:
        found.read(LOG)


def test_nobody_listens(clone: tuple[Repo, Repo]) -> None:
    url = "http://127.0.0.1:1/origin.git"
    assert "the remote was not reached" in refused(records(clone[0], url, TOKEN)).message


def test_an_outage_is_met_three_times_and_may_pass(
    clone: tuple[Repo, Repo], server: GitServer
) -> None:
    repo, _ = clone
    server.refuse = {"": 503}
    error = refused(records(repo, f"{server.url}/origin.git", TOKEN))
    assert "the remote was not reached, or broke off" in error.message
    assert len(server.seen) == 3


def test_a_token_writes_over_http_and_only_its_process_knows(
    clone: tuple[Repo, Repo], server: GitServer
) -> None:
    repo, origin = clone
    origin.git("config", "http.receivepack", "true")
    # What actions/checkout leaves behind; two such headers at once are refused by GitHub.
    repo.git("config", f"http.{server.url}/.extraHeader", "Authorization: Basic b2xk")
    before = everything(repo.path)
    with records(repo, f"{server.url}/origin.git", TOKEN) as found:
        found.change(LOG, lambda content: Edit(content + b"one\n", "Add a line"))
        private = Path(found._private.folder)  # type: ignore[union-attr]
        kept = b"".join(path.read_bytes() for path in private.rglob("*") if path.is_file())
    assert origin.git("show", "gateval-audit:audit.jsonl") == b"one\n"
    assert len(server.seen) >= 4
    assert set(server.seen) == {f"Basic {basic(TOKEN)}"}
    for lines in server.command_lines:
        assert b"git-remote-http" in lines
        for secret in (TOKEN.encode(), basic(TOKEN).encode()):
            assert secret not in lines
    assert TOKEN.encode() not in kept
    assert basic(TOKEN).encode() not in kept
    assert everything(repo.path) == before


def test_a_password_in_the_remotes_url_is_used_and_not_shown(
    clone: tuple[Repo, Repo], server: GitServer
) -> None:
    repo, _ = clone
    url = f"{server.url}/origin.git"
    repo.git("remote", "set-url", "origin", url.replace("//", f"//ada:{TOKEN}@"))
    server.refuse = {"receive-pack": 403}
    error = refused(records(repo))
    assert url in error.message
    assert "ada" not in error.message
    assert set(server.seen) == {f"Basic {basic(TOKEN, 'ada')}"}
    assert all(TOKEN.encode() not in lines for lines in server.command_lines)


def test_a_missing_permission_is_named(clone: tuple[Repo, Repo], server: GitServer) -> None:
    server.refuse = {"receive-pack": 403}
    error = refused(records(clone[0], f"{server.url}/origin.git", TOKEN))
    assert "the permission `contents: write` is missing" in error.message
    assert "`contents: write`" in error.hint
    assert error.permission == "contents: write"


def test_a_token_that_may_not_even_read(clone: tuple[Repo, Repo], server: GitServer) -> None:
    server.refuse = {"": 403}
    error = refused(records(clone[0], f"{server.url}/origin.git", TOKEN))
    assert error.permission == "contents: read"


def test_a_token_that_is_not_valid(clone: tuple[Repo, Repo], server: GitServer) -> None:
    server.refuse = {"": 401}
    error = refused(records(clone[0], f"{server.url}/origin.git", TOKEN))
    assert "there is no valid token or key" in error.message


def test_a_name_in_the_url_that_may_be_a_token(clone: tuple[Repo, Repo], server: GitServer) -> None:
    server.refuse = {"": 401}
    url = f"{server.url}/origin.git".replace("//", f"//{TOKEN}@")
    refused(records(clone[0], url))
    assert all(TOKEN.encode() not in lines for lines in server.command_lines)


def test_a_token_follows_no_redirect(clone: tuple[Repo, Repo], server: GitServer) -> None:
    repo, origin = clone
    with GitServer(origin.path.parent) as other:
        server.refuse = {"": 301}
        server.location = f"{other.url}/origin.git/info/refs?service=git-upload-pack"
        refused(records(repo, f"{server.url}/origin.git", TOKEN))
        assert other.seen == []


@pytest.mark.parametrize(
    "url", ["http://example.com/o/r", "ssh://git@example.com/o/r", "git@example.com:o/r", "../x"]
)
def test_a_token_goes_nowhere_in_the_clear(clone: tuple[Repo, Repo], url: str) -> None:
    with pytest.raises(UsageError) as caught:
        records(clone[0], url, TOKEN)
    assert TOKEN not in f"{caught.value.message}{caught.value.hint}"


def test_a_token_wants_a_url_that_nobody_else_can_change(clone: tuple[Repo, Repo]) -> None:
    with pytest.raises(UsageError, match="needs the remote's URL, not its name"):
        records(clone[0], "origin", TOKEN)


def test_a_token_with_a_line_break_is_no_header(clone: tuple[Repo, Repo]) -> None:
    with pytest.raises(UsageError, match="no HTTP header"):
        records(clone[0], "https://example.com/o/r", f"{TOKEN}\nX-Evil: 1")


def test_no_secret_in_what_python_prints(clone: tuple[Repo, Repo]) -> None:
    found = records(clone[0], "https://example.com/o/r", TOKEN)
    assert TOKEN not in repr(found._remote)
