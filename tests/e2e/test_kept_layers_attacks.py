"""Somebody who writes to the folder of kept layers, and knows how their digests are made."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from examples.demo import gate
from tests.e2e.test_kept_layers import INSTALL, MANIFESTS
from tests.helpers.command import environment, run_command
from tests.helpers.repo import Repo
from tests.helpers.users import BOTH_USERS, SAME_USER, Who, who

ANSWERED = {
    "a kept layer that was changed, torn, or put under another's name": "its list and each file have a digest; told, and made anew",
    "a forged one with right digests, from whoever may write the folder or the cache": "signed by a key of the gate's; told, and made anew",
    "one in git, or behind a link of the checkout": "the folder is not used",
    "a folder that others may write or replace, another user's files or links": "not used, and told",
    "the key: read by a candidate or a set-up (of a run that keeps none, too), replaced by a link, put into the repository": "hidden like homes, for one user alone, made whole or not at all; a link or a key in the repository is refused",
    "a job without the key": "nothing is kept; read is only the default branch's cache on a hosted machine where nothing ran before",
    "names that lead out, links that are written through, set-user-id files in it": "the list is checked before anything is written, links are made last, and files get no such rights",
    "a pull request that fills the default branch's cache, through a run by hand or a comment": "those runs read only",
    "a candidate that reaches the folder": "hidden like the workspace; without a wall around it, nothing is kept",
    "a fork that reads a secret in the cache": "nothing is kept that saw one",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""

__all__ = ["who"]

SECRET = "6b" * 32
ROOT = Who(rights=True, path=os.defpath)
STRANGER = 4242
NOBODY = 2**32 - 1
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
AGENT = """\
import pathlib
at = pathlib.Path(".venv")
print((at / "lock").read_text(), (at / "made").read_text())
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An agent that fails, because of what its set-up makes."""
    repo = Repo(tmp_path / "repo")
    repo.write("bot.yaml", MANIFESTS)
    repo.write("install.py", INSTALL)
    repo.write("agent.py", AGENT)
    repo.write("uv.lock", "worsens 1")
    repo.commit()
    return repo


class Ended(CompletedProcess[str]):
    """A run that has ended: when the layer was made that its agent saw, and what the gate told."""

    made: str
    told: str


def run(repo: Repo, who: Who = SAME_USER, **extra: str) -> Ended:
    """Run the Eval with layers kept in `kept`, beside the repository."""
    results = repo.path.parent / f"results-{os.urandom(4).hex()}"
    settings = {"GATEVAL_LAYERS": str(repo.path.parent / "kept"), **extra}
    words = ("run", "bot-eval", "--rev", "HEAD", "--results", str(results))
    return ended(who.run(repo, *words, **settings), results)


def ended(done: CompletedProcess[str], results: Path) -> Ended:
    end = Ended(done.args, done.returncode, done.stdout, done.stderr)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    (trial,) = json.loads((results / "results.v1.json").read_text())["trials"]
    end.made = trial["output"].split()[-1]
    end.told = " ".join(done.stderr.split())
    return end


def assert_used(done: Ended, first: Ended) -> None:
    """Hold that a run took the layer of the first, and had nothing to tell about it."""
    assert done.made == first.made
    assert "made anew" not in done.told
    assert "not kept" not in done.told


def kept(repo: Repo) -> Path:
    return repo.path.parent / "kept"


def entry(repo: Repo) -> Path:
    (path,) = kept(repo).glob("*.layer")
    return path


def another_machine(repo: Repo) -> None:
    """Take away what only this machine has: the layers that lie ready, wherever users can go."""
    whose = hashlib.sha256(os.fsencode(kept(repo))).hexdigest()[:8]
    found = [
        path
        for parent in (repo.path.parent / "home", Path("/tmp"))
        for path in parent.glob(f"gateval-layers-*-{whose}")
    ]
    assert found
    for folder in found:
        shutil.rmtree(folder)


def forge(path: Path, sign: Callable[[str, bytes], str] = lambda _, old: old.decode()) -> None:
    """Let the layer say `version 1`, with all of its digests right; `sign` makes a signature."""
    head, line, contents = path.read_bytes().split(b"\n", 2)
    name, leans_on, rows = json.loads(line)
    old, other = (hashlib.sha256(text).hexdigest() for text in (b"worsens 1", b"version 1"))
    rows = [[*row[:-1], other if row[-1] == old else row[-1]] for row in rows]
    new = json.dumps([name, leans_on, rows]).encode() + b"\n"
    digest = hashlib.sha256(new).hexdigest()
    parts = head.replace(hashlib.sha256(line + b"\n").hexdigest().encode(), digest.encode())
    *first, last = parts.split(b" ")
    parts = b" ".join((*first, sign(digest, last).encode()))
    path.write_bytes(parts + b"\n" + new + contents.replace(b"worsens 1", b"version 1"))


def test_a_forged_layer_with_right_digests_turns_nothing_green(repo: Repo, who: Who) -> None:
    assert run(repo, who).returncode == 1
    another_machine(repo)
    forge(entry(repo))
    second = run(repo, who)
    assert second.returncode == 1, "a stranger's layer was used"
    assert "A kept set-up is not used and made anew: it is not signed" in second.told
    assert_used(run(repo, who), second)


def test_a_forged_layer_is_not_used_in_ci_either(repo: Repo) -> None:
    ci = {"CI": "true", "GATEVAL_LAYERS_KEY": SECRET}
    first = run(repo, SAME_USER, **ci)
    assert run(repo, SAME_USER, **ci).made == first.made
    another_machine(repo)
    forge(entry(repo))
    assert run(repo, SAME_USER, **ci).returncode == 1


def test_a_layer_of_another_key_is_not_used(repo: Repo) -> None:
    ci = {"CI": "true", "GATEVAL_LAYERS_KEY": SECRET}
    first = run(repo, SAME_USER, **ci)
    second = run(repo, SAME_USER, **{**ci, "GATEVAL_LAYERS_KEY": SECRET[::-1]})
    assert second.made != first.made
    assert "it is not signed" in second.told


@pytest.mark.parametrize("extra", [{"CI": "true"}, {"GITHUB_ACTIONS": "true"}])
def test_without_the_secret_ci_neither_keeps_nor_uses_any(
    repo: Repo, extra: dict[str, str]
) -> None:
    first = run(repo, SAME_USER, **extra)
    assert "GATEVAL_LAYERS_KEY" in first.told
    assert not kept(repo).exists()
    run(repo)
    forge(entry(repo))
    assert run(repo, SAME_USER, **extra).returncode == 1


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_folder_that_everybody_may_write_is_not_used(repo: Repo, mode: int) -> None:
    first = run(repo)
    kept(repo).chmod(mode)
    second = run(repo)
    assert second.made != first.made
    assert "others may write to" in second.told
    assert "chmod" in second.told


def test_a_folder_in_one_that_everybody_may_write_is_not_used(repo: Repo) -> None:
    around = repo.path.parent / "around"
    around.mkdir()
    settings = {"GATEVAL_LAYERS": str(around / "kept")}
    first = run(repo, SAME_USER, **settings)
    around.chmod(0o777)
    second = run(repo, SAME_USER, **settings)
    assert second.made != first.made
    assert "others may write to" in second.told
    around.chmod(0o1777)
    assert run(repo, SAME_USER, **settings).made == first.made


@AS_ROOT
@pytest.mark.parametrize("what", ["folder", "entry", "around"])
def test_what_belongs_to_another_user_is_not_used(repo: Repo, what: str) -> None:
    around = repo.path.parent / "around"
    around.mkdir()
    settings = {"GATEVAL_LAYERS": str(around / "kept")}
    first = run(repo, ROOT, **settings)
    path = {"folder": around / "kept", "around": around}
    (layer,) = (around / "kept").glob("*.layer")
    os.chown(path.get(what, layer), STRANGER, STRANGER)
    second = run(repo, ROOT, **settings)
    assert second.made != first.made
    assert "belongs to another user" in second.told


@AS_ROOT
def test_a_link_that_another_user_made_is_not_followed(repo: Repo) -> None:
    kept(repo).with_name("elsewhere").mkdir()
    kept(repo).symlink_to(kept(repo).with_name("elsewhere"))
    first = run(repo, ROOT)
    assert_used(run(repo, ROOT), first)
    os.chown(kept(repo), STRANGER, STRANGER, follow_symlinks=False)
    second = run(repo, ROOT)
    assert second.made != first.made
    assert "belongs to another user" in second.told


def test_a_link_in_place_of_an_entry_is_not_followed(repo: Repo) -> None:
    first = run(repo)
    path = entry(repo)
    another_machine(repo)
    path.rename(repo.path.parent / "elsewhere")
    path.symlink_to(repo.path.parent / "elsewhere")
    assert run(repo).made != first.made
    assert not entry(repo).is_symlink()


@pytest.mark.parametrize("how", ["a link", "readable by all", "in the repository"])
def test_a_key_that_a_stranger_may_know_signs_nothing(repo: Repo, how: str) -> None:
    from gateval.adapters.layer_trust import signature

    state = repo.path / "state" if how == "in the repository" else repo.path.parent / "state"
    where = {"XDG_STATE_HOME": str(state)}
    known = repo.path.parent / "known"
    run(repo, XDG_STATE_HOME=str(repo.path.parent / "first"))
    another_machine(repo)
    (state / "gateval").mkdir(parents=True, mode=0o700)
    known.write_text("ab" * 32 + "\n")
    known.chmod(0o600)
    key = state / "gateval/layers.key"
    if how == "a link":
        key.symlink_to(known)
    else:
        key.write_bytes(known.read_bytes())
        key.chmod(0o644 if how == "readable by all" else 0o600)
    path = entry(repo)
    forge(path, lambda digest, _: signature(bytes.fromhex("ab" * 32), path.stem, digest))
    second = run(repo, SAME_USER, **where)
    assert second.returncode == 1
    assert "set-up" in second.told


SPY = """\
import os, pathlib
key, kept = pathlib.Path({key!r}), pathlib.Path({kept!r})
seen = "kept out"
try:
    seen = "KEY " + key.read_text()
except OSError:
    pass
for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        if b"GATEVAL_LAYERS_KEY" in environ.read_bytes(): seen = "KEY in " + str(environ)
    except OSError:
        pass
try:
    (kept / ("0" * 64 + ".layer")).write_bytes(b"")
    seen = "WROTE"
except OSError:
    pass
"""


@BOTH_USERS
def test_neither_candidates_nor_set_ups_reach_key_or_folder(
    repo: Repo, who: Who, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    spy = SPY.format(key=str(state / "gateval/layers.key"), kept=str(kept(repo)))
    repo.write("install.py", spy + INSTALL + '(at / "spied").write_text(seen)\n')
    repo.write("agent.py", spy + '(print(seen, open(".venv/spied").read()))\n' + AGENT)
    repo.write("uv.lock", "version 1")
    repo.commit()
    for extra in ({"XDG_STATE_HOME": str(state)}, {"CI": "true", "GATEVAL_LAYERS_KEY": SECRET}):
        for _ in range(2):
            done = run(repo, who, **extra)
            (folder,) = [one for one in tmp_path.glob("results-*") if not (one / "seen").exists()]
            (folder / "seen").touch()
            (trial,) = json.loads((folder / "results.v1.json").read_text())["trials"]
            assert trial["output"].count("kept out") == 2, trial["output"]
            assert done.returncode == 0
        assert len(list(kept(repo).glob("*.layer"))) == 1
    file = state / "gateval/layers.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@AS_ROOT
@BOTH_USERS
def test_the_key_is_out_of_sight_in_runs_that_keep_no_layers(repo: Repo, who: Who) -> None:
    """Neither in a home nor in /tmp, which are hidden anyway."""
    with tempfile.TemporaryDirectory(dir="/srv") as state:
        assert run(repo, who, XDG_STATE_HOME=state).returncode == 1
        spy = SPY.format(key=f"{state}/gateval/layers.key", kept=str(kept(repo)))
        repo.write("agent.py", f"{spy}print(seen)\n")
        repo.commit()
        done = run(repo, who, XDG_STATE_HOME=state, GATEVAL_LAYERS="")
    assert done.made == "out", "the key was read"


@pytest.mark.parametrize("mode", [0o755, 0o775])
def test_a_folder_of_something_else_keeps_its_mode(repo: Repo, mode: int) -> None:
    """Such as /var/cache: others would be locked out of it."""
    kept(repo).mkdir()
    kept(repo).joinpath("other").mkdir()
    kept(repo).chmod(mode)
    first = run(repo)
    assert stat.S_IMODE(kept(repo).stat().st_mode) == mode
    if mode == 0o755:
        assert_used(run(repo), first)
    else:
        assert "holds other things" in first.told


@AS_ROOT
@pytest.mark.parametrize("where", ["around", "folder"])
def test_who_may_write_by_a_list_of_rights_may_write(repo: Repo, where: str) -> None:
    """POSIX ACLs: the mode calls their mask the group's rights."""
    around = repo.path.parent / "around"
    around.mkdir()
    settings = {"GATEVAL_LAYERS": str(around / "kept")}
    first = run(repo, ROOT, **settings)
    path = around if where == "around" else around / "kept"
    rows = ((1, 7, NOBODY), (2, 7, STRANGER), (4, 5, NOBODY), (16, 7, NOBODY), (32, 5, NOBODY))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)
    try:
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("this file system has no lists of rights")
    second = run(repo, ROOT, **settings)
    if where == "folder":  # a mode of 0700 is a mask of nothing
        assert_used(second, first)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    else:
        assert second.made != first.made
        assert "others may write to" in second.told


def test_a_generous_umask_is_mended(repo: Repo) -> None:
    def by_umask() -> Ended:
        results = repo.path.parent / f"results-{os.urandom(4).hex()}"
        shell = ("sh", "-c", 'umask 002 && exec "$@"', "sh")
        words = (*shell, *gate(), "run", "bot-eval", "--rev", "HEAD", "--results", str(results))
        env = environment(repo, GATEVAL_LAYERS=str(kept(repo).with_name("new") / "kept"))
        return ended(run_command(repo, words, env), results)

    first, second = by_umask(), by_umask()
    assert_used(second, first)
    folder = kept(repo).with_name("new") / "kept"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (path,) = folder.glob("*.layer")
    folder.chmod(0o775)
    path.chmod(0o664)
    assert_used(by_umask(), first)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder, path)] == [0o700, 0o600]


@AS_ROOT
def test_the_runners_user_around_a_root_container(repo: Repo) -> None:
    """The workspace is the runner's user's, and so is what its cache put back."""
    for path in (repo.path, *repo.path.rglob("*")):
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    ci = {
        "SUDO_UID": str(STRANGER),
        "CI": "true",
        "GATEVAL_LAYERS_KEY": SECRET,
        "GATEVAL_LAYERS": ".gateval/layers",
    }
    first = run(repo, ROOT, **ci)
    folder = repo.path / ".gateval/layers"
    (path,) = folder.glob("*.layer")
    assert {one.stat().st_uid for one in (folder, path)} == {STRANGER}
    folder.chmod(0o755)
    path.chmod(0o644)
    assert_used(run(repo, ROOT, **ci), first)
    assert {one.stat().st_uid for one in (folder, path)} == {STRANGER}


def test_the_key_is_one_of_the_gates_secrets(repo: Repo) -> None:
    repo.write("uv.lock", f"version {SECRET}")
    repo.commit()
    done = run(repo, CI="true", GATEVAL_LAYERS_KEY=SECRET)
    assert done.returncode == 0
    stored = [path for path in repo.path.parent.glob("results-*/**/*") if path.is_file()]
    assert not [path for path in stored if SECRET.encode() in path.read_bytes()]
    repo.write(".github/gateval.yml", "policy: {candidateEnv: [GATEVAL_LAYERS_KEY]}\n")
    repo.commit()
    refused = SAME_USER.run(repo, "run", "bot-eval", GATEVAL_LAYERS_KEY=SECRET)
    assert refused.returncode == 2


@pytest.mark.parametrize("key", ["short", "a" * 31])
def test_a_key_that_can_be_guessed_is_none(repo: Repo, key: str) -> None:
    done = SAME_USER.run(repo, "run", "bot-eval", GATEVAL_LAYERS_KEY=key)
    assert done.returncode == 2
    assert "GATEVAL_LAYERS_KEY has fewer than 32 characters" in done.stderr
    assert key not in done.stderr


def test_a_providers_key_is_not_taken(repo: Repo) -> None:
    extra = {"OPENAI_API_KEY": SECRET, "GATEVAL_LAYERS_KEY": SECRET}
    done = SAME_USER.run(repo, "run", "bot-eval", **extra)
    assert done.returncode == 2
    assert "GATEVAL_LAYERS_KEY is the key of a model provider" in done.stderr
    assert SECRET not in done.stderr
