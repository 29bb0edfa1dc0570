"""In a run with sealed Evals root's candidates see no process but their own, where it can be had."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gateval.candidates.isolation.isolation_level import why_not_apart
from tests.e2e.sealed.test_sealed_stage import command, gone, held, marked, opened, run
from tests.e2e.sealed.test_sealed_words import shop_of
from tests.helpers.command import gateval, start_gateval
from tests.helpers.isolation import open_folder, walls_here
from tests.helpers.repo import Repo
from tests.helpers.sealed import AGENT, CONFIG, KEY

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's agents have PID namespaces")

LOOKS = """
import glob, json, os, subprocess, sys
json.load(sys.stdin)
subprocess.Popen(["sh", "-c", "sleep 60; true", "MARK"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3):
            os.close(number)
        os.execv("/bin/sh", ["sh", "-c", "sleep 60; true", "MARK"])
    os._exit(0)
os.wait()
said = b""
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        said += open(path, "rb").read()
    except OSError:
        pass
pids = sorted(int(one) for one in os.listdir("/proc") if one.isdigit())
print(json.dumps([os.getpid(), pids[:20], b"held-out" in said]))
"""
ASKS = command("[sh]", "echo ZANZIBAR", "ZANZIBAR")


def namespaces_here() -> None:
    """Skip the test where candidates get no PID namespaces, with the reason."""
    if why_not := why_not_apart(walls_here(own_users=True)):
        pytest.skip(f"no PID namespaces here: {why_not}")


def seen(trials: list[dict[str, Any]]) -> list[list[Any]]:
    """What candidates saw: their own id, all ids, and whether the gate's words."""
    return [json.loads(one["output"]) for one in trials]


def test_a_candidate_sees_only_its_own_processes_and_none_is_left() -> None:
    namespaces_here()
    mark, alone = marked()
    with open_folder() as folder:
        text = held(ASKS, alone, reps=3)
        shop = shop_of(folder / "shop", text, LOOKS.replace("MARK", mark))
        trials = run(shop, folder, users=True)
        assert {one["outcome"] for one in trials} == {"pass"}
        for pid, pids, gate in seen(trials):
            assert (pid, pids[:2], gate) == (2, [1, 2], False)
            assert len(pids) <= 7, "process 1, itself, and what it started"


def test_runs_without_sealed_evals_are_as_ever() -> None:
    with open_folder() as folder:
        shop = Repo(folder / "shop")
        shop.write("desk/agent.yaml", AGENT)
        shop.write("desk/desk.py", LOOKS.replace("MARK", "none"))
        shop.write("evals/data/start.txt", "start")
        shop.write(".github/gateval.yml", CONFIG)
        shop.write("evals/plain.yaml", held(ASKS, reps=1))
        shop.commit("Plain")
        out = folder / "out"
        whole = [sys.executable, "-P", "-m", "gateval"]
        process = start_gateval(shop, "run", "held-out", "--results", str(out), command=whole)
        said = "".join(process.communicate(timeout=120))
        assert process.returncode in {0, 1}, said
        ((pid, _, _),) = seen(json.loads((out / "results.v1.json").read_text())["trials"])
        assert pid > 2


def test_without_the_right_to_make_one_a_run_is_as_ever() -> None:
    weaker = ["setpriv", "--bounding-set=-sys_admin", sys.executable, "-P", "-m", "gateval"]
    with open_folder() as folder:
        shop = shop_of(folder / "shop", held(ASKS, reps=1), LOOKS.replace("MARK", "none"))
        out = folder / "out"
        process = start_gateval(
            shop, "run", "held-out", "--results", str(out), command=weaker, **KEY
        )
        said = "".join(process.communicate(timeout=120))
        assert process.returncode == 0, said
        assert all(pid > 2 for pid, _, _ in seen(opened(shop, out)))
        told = start_gateval(shop, "doctor", command=weaker).communicate(timeout=60)[0]
        assert "PID namespaces: no, because the system refuses it" in " ".join(told.split())


ENDS = """
import json, os, signal, sys, time
json.load(sys.stdin)
END
"""
WAYS = {
    "raise SystemExit(7)": "exit code 7",
    "os.kill(os.getpid(), signal.SIGKILL)": "SIGKILL",
    "os.kill(0, signal.SIGTERM)": "SIGTERM",
    "time.sleep(60)": "was not done within",
}


@pytest.mark.parametrize("end", list(WAYS))
def test_how_an_agent_ends_is_told_as_ever(end: str) -> None:
    namespaces_here()
    with open_folder() as folder:
        limit = 2 if "sleep" in end else 60
        text = held(ASKS, reps=1).replace("execution: {", f"execution: {{timeoutSeconds: {limit}, ")
        shop = shop_of(folder / "shop", text, ENDS.replace("END", end))
        out = folder / "out"
        whole = [sys.executable, "-P", "-m", "gateval"]
        process = start_gateval(
            shop, "run", "held-out", "--results", str(out), command=whole, **KEY
        )
        said = "".join(process.communicate(timeout=120))
        ended = [one for one in opened(shop, out) if WAYS[end] in one["reason"]]
        assert {one["cause"] for one in ended} == {"candidate"}, said
        assert {one["outcome"] for one in ended} <= {"fail", "skip"}, said
        assert process.returncode == 1, said


def _asleep(folder: Path) -> subprocess.Popen[str]:
    program = ENDS.replace("END", "os.fork() or os.setsid(); time.sleep(60)")
    shop = shop_of(folder / "shop", held(ASKS, reps=2), program)
    whole = [sys.executable, "-P", "-m", "gateval"]
    process = start_gateval(
        shop, "run", "held-out", "--results", str(folder / "out"), command=whole, **KEY
    )
    deadline = time.monotonic() + 60
    while len(_inside(process.pid)) < 4:
        assert process.poll() is None, "".join(process.communicate())
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def _inside(gate: int) -> list[int]:
    """The processes in namespaces below this gate's."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text, pid = status.read_text(), int(status.parent.name)
            named = re.search(r"^NSpid:\t(.*)$", text, re.M)
            if named and len(named[1].split()) > 1 and _is_below(pid, gate):
                found.append(pid)
        except OSError:
            continue
    return found


def _is_below(pid: int, gate: int) -> bool:
    while pid > 1 and pid != gate:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == gate


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_gate_ends(number: signal.Signals) -> None:
    namespaces_here()
    with open_folder() as folder:
        process = _asleep(folder)
        inside = _inside(process.pid)
        process.send_signal(number)
        process.communicate(timeout=60)
        deadline = time.monotonic() + 30
        while any(Path(f"/proc/{pid}").exists() for pid in inside):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        if number is not signal.SIGKILL:
            gone(folder)


def test_doctor_says_which(tmp_path: Path) -> None:
    shop = shop_of(tmp_path / "shop")
    said = " ".join(gateval(shop, "doctor").stdout.split())
    assert re.search(
        r"PID namespaces: (yes, for agents beside sealed Evals|no, because it takes)", said
    ), said
