"""Where candidates have the gate's user, and its list of processes does not show all that there are."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.e2e.test_loopback_attacks import PROGRAM, port
from tests.e2e.test_upstream_attacks import forged, ground, root, run, said, squatting
from tests.helpers.isolation import open_python
from tests.helpers.outside import free_port, kept_port, provider_outside, running, told_by
from tests.helpers.tiers import some_always
from tests.hostile.ground import as_user

__all__ = ["ground", "port"]

USER = 43_000 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
"""A user of this worker's own: what hides outlives the gate, which cannot see it."""

HIDING = ("unshare", "--mount", "sh", "-c",
          'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh")  # fmt: skip
OPEN = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")
"""Begins a namespace of processes; those outside are not seen from it."""


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    """End what a test leaves behind."""
    yield
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and process.stat().st_uid == USER:
                os.kill(int(process.name), signal.SIGKILL)


@root
@pytest.mark.parametrize("within", some_always([HIDING, (*OPEN, *HIDING)], 2))
@pytest.mark.parametrize("way", some_always(["at_once", "undumpable"], 1))
def test_a_candidate_whose_parents_are_not_shown_is_one(
    ground: Path, port: int, way: str, within: tuple[str, ...]
) -> None:
    repo = squatting(ground, port, program=PROGRAM, way=way, threads=1)
    done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=USER, within=within)
    assert "I took 0 keys at 1 places" in trials, trials
    assert "I took 1" not in trials
    assert done.returncode == 3, done.stdout + done.stderr


@root
@pytest.mark.parametrize("how", ["in CI", "trusted", "at a terminal", "by a program", "check"])
def test_a_provider_that_nothing_tells_of_is_asked_where_somebody_answers_for_it(
    ground: Path, how: str
) -> None:
    """It is the gate's user's, in another namespace of processes, as in another container."""
    read, terminal = pty.openpty()
    is_read = how in {"at a terminal", "check"}
    pieces: list[bytes] = []
    reader = threading.Thread(target=lambda: pieces.extend(iter(lambda: _read(read), b"")))
    reader.start()
    with provider_outside(ground, USER, forged()) as port:
        repo = squatting(ground, port, "::1")
        if how == "trusted":
            repo.write(".github/gateval.yml", "policy: {loopbackUpstreams: trusted}\n")
            repo.commit()
        base = ""
        if how == "check":
            repo.branch("change", base := "main")
            repo.write("agent.py", (repo.path / "agent.py").read_text() + "# more\n")
            repo.commit()
        stderr = terminal if is_read else subprocess.PIPE
        variables = {"CI": "true"} if how in {"in CI", "trusted"} else {}
        url = f"http://127.0.0.1:{port}/v1"
        done, _ = run(repo, url, user=USER, within=OPEN, stderr=stderr, base=base, **variables)
    os.close(terminal)
    reader.join()
    os.close(read)
    told = b"".join(pieces).decode() if is_read else done.stderr

    asked = is_read or how == "trusted"
    assert done.returncode == (0 if asked else 3), done.stdout + told
    assert ("nothing tells who answers (policy.loopbackUpstreams" in said(done)) is not asked
    warnings = " ".join(told.split()).count("nothing here can tell that it is no agent")
    assert warnings == is_read


@root
@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "checked"])
@pytest.mark.parametrize("is_up", [True, False], ids=["a provider", "a candidate"])
def test_a_provider_of_the_gates_user_that_hides_is_asked_where_it_is_trusted(
    ground: Path, *, trusted: bool, is_up: bool
) -> None:
    """As Pasta does, which forwards ports for rootless Podman; a candidate that hides is told nothing."""
    hides = "import ctypes; ctypes.CDLL(None).prctl(4, 0)\n"
    with ExitStack() as stack:
        port = free_port() if is_up else stack.enter_context(kept_port())
        provider = ground / "provider.py"
        provider.write_text(hides + told_by(port, forged()))
        if is_up:
            words = [*as_user(USER), open_python(), "-I", "-S", str(provider)]
            stack.enter_context(running(words, port))
        repo = squatting(ground, port, program=PROGRAM, way="undumpable", threads=int(not is_up))
        policy = f"bindPorts: [{port}], loopbackUpstreams: {'trusted' if trusted else 'checked'}"
        repo.write(".github/gateval.yml", f"policy: {{{policy}}}\n")
        repo.commit()
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=USER)
    assert "I took 0 keys" in trials, trials + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == (0 if is_up and trusted else 3), done.stdout + done.stderr
    untold = "nothing tells who answers (policy.loopbackUpstreams"
    assert (untold in said(done)) is (is_up and not trusted), done.stdout


@root
@pytest.mark.parametrize("held", [True, False], ids=["held", "free"])
@pytest.mark.parametrize("trusted", some_always([False, True], 1))
def test_whoever_is_held_as_candidates_are_is_no_provider_though_nobody_started_him(
    ground: Path, *, held: bool, trusted: bool
) -> None:
    """Before Linux 6.12 a candidate can end the gate and all that keeps it, and live on as nobody's
    child. What it is held by it keeps for life.
    """
    port, program = free_port(), ground / "provider.py"
    program.write_text(told_by(port, forged()))
    program.chmod(0o644)
    bound = ["setpriv", "--no-new-privs"] if held else []
    repo = squatting(ground, port, "::1")
    policy = f"bindPorts: [{port}], loopbackUpstreams: {'trusted' if trusted else 'checked'}"
    repo.write(".github/gateval.yml", f"policy: {{{policy}}}\n")
    repo.commit()
    with running([*bound, *as_user(USER), open_python(), "-I", "-S", str(program)], port):
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=USER)
    asked = trusted or not held
    assert "I took 0 keys at 1 places" in trials, trials + done.stderr
    assert done.returncode == (0 if asked else 3), done.stdout + done.stderr
    untold = "nothing tells who answers (policy.loopbackUpstreams"
    assert (untold in said(done)) is not asked


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # everybody has left it
        return b""
