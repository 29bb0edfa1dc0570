"""Hostile candidates, all in one run of the gate beside a witness that behaves.

Each attack ends as its trial's own affair; the witness notices nothing; no canary comes out; no
process and no file stays. Once with users of their own, as root has it, and once as an ordinary
user, where what differs is asserted too: `Attack.as_user`, `Attack.disturbs`, and below `LEAVES`
and `SHARES`. docs/security.md says it in words.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import stored
from tests.helpers.isolation import open_folder
from tests.hostile.attacks import ATTACKS
from tests.hostile.attacks.answering import ANSWERING
from tests.hostile.attacks.attack import Attack
from tests.hostile.attacks.exhausting import EXHAUSTING
from tests.hostile.ground import WITNESS_TRIALS, Ground, gate_command, own

ANSWERED = {
    "a fault of the kernel behind a rarely used call, or in a namespace of one's own": "a [filter of system calls](security.md#isolation-of-candidates) refuses user namespaces, io_uring, bpf, ptrace, keyrings, mounts and their like, and other architectures' calls",
    "credentials beside a program on `PATH` (`~/.cargo/credentials.toml`), or in `/run/user`": "of a home only folders on `PATH` and the parts of known toolchains are readable",
    "a terminal of the user, a device that everybody may open, `/proc/sys` as root": "harmless devices and `/proc/self` are all that can be opened for writing; as root nobody runs as root",
    "files in `/dev/shm`, many small files, much written just before the end": "counted by user, at each look and at the end",
    "results through a link that the change commits, modules for `python -m gateval`": "no link is followed in the workspace; `python -m gateval` is refused without `-P`",
    "Multipath TCP, Fast Open, raw or netlink sockets past `policy.egress`": "refused by the filter; UDP is not: [what gets out](security.md#egress)",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""

LEAVES = ("/dev/shm",)
"""Where candidates with the gate's own user may leave files: nobody can tell whose they are."""

SHARES = "Resource temporarily unavailable"
"""The kernel counts the processes of a user, so one's fork bomb can keep others from forking."""

AS_USER = tuple(attack for attack in ATTACKS if not attack.disturbs)
SAME_FOR_ALL = (*EXHAUSTING, *ANSWERING)
"""What holds these is the same for an ordinary user's gate, which meets them each night."""

SECONDS = 240


def test_there_are_enough_of_them() -> None:
    names = Counter(attack.name for attack in ATTACKS)
    assert len(names) >= 40
    assert max(names.values()) == 1


@pytest.mark.parametrize(
    ("own_users", "attacks"),
    [
        pytest.param(True, ATTACKS, id="root"),
        pytest.param(False, tuple(a for a in AS_USER if a not in SAME_FOR_ALL), id="ordinary user"),
        pytest.param(False, AS_USER, id="ordinary user, all", marks=pytest.mark.exhaustive),
    ],
)
def test_hostile_candidates_harm_nobody_but_themselves(
    attacks: tuple[Attack, ...], *, own_users: bool
) -> None:
    if own_users and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    user = None if own_users or os.geteuid() != 0 else 200_000 + secrets.randbelow(10**6)
    with open_folder() as base:
        ground = Ground(base, attacks)
        ground.build()
        if user is not None:
            own(base, user)
        before = ground.fingerprint()
        done = run(ground, user)
        wrong = [
            *judged(ground, done, own_users=own_users),
            *said(ground, done),
            *changed(before, ground.fingerprint()),
            *left(ground, own_users=own_users),
        ]
    assert not wrong, "\n".join(wrong)


def run(ground: Ground, user: int | None) -> subprocess.CompletedProcess[bytes]:
    """Run the gate on all of them."""
    command, variables = gate_command(user)
    with ground.inhabited(user) as provider:
        return subprocess.run(
            [*command, "run", "brief", "long", "witness", "--results", str(ground.results)],
            cwd=ground.workspace,
            env={**ground.environment(provider), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )


def judged(
    ground: Ground, done: subprocess.CompletedProcess[bytes], *, own_users: bool
) -> list[str]:
    """What is wrong with how the trials ended."""
    stored = ground.results / "results.v1.json"
    if not stored.exists():
        return [f"no results: exit {done.returncode}: {done.stderr.decode()[-3000:]}"]
    results = json.loads(stored.read_text())
    firsts = [trial for trial in results["trials"] if trial["key"]["repetition"] == 1]
    trials = {trial["key"]["fixture"]: trial for trial in firsts}
    wrong = [
        f"{attack.name}: {fault}"
        for attack in ground.attacks
        if (fault := _fault(attack, trials.get(attack.name), own_users=own_users))
    ]
    witnesses = [t for t in results["trials"] if t["key"]["fixture"] == "witness"]
    if [w["outcome"] for w in witnesses] != ["pass"] * WITNESS_TRIALS:
        bad = [w for w in witnesses if w["outcome"] != "pass"]
        wrong.append(f"the witness was disturbed: {json.dumps(bad)[:1500]}")
    isolation = results["info"]["isolation"]
    if ("own user per candidate" in isolation) is not own_users:
        wrong.append(f"isolation is said to be {isolation!r}")
    if ("not promised" in done.stderr.decode()) is own_users:
        wrong.append("what is not promised is not said, or said without need")
    return wrong


def _fault(attack: Attack, trial: dict[str, Any] | None, *, own_users: bool) -> str:
    if trial is None:
        return "has no trial"
    output = "\n".join([trial["output"] or "", *trial["detail"]])
    reached = {line.split()[1] for line in output.splitlines() if line.startswith("REACHED")}
    allowed = set() if own_users else {attack.as_user} - {""}
    if reached != allowed:
        return f"reached {sorted(reached)} instead of {sorted(allowed)}: {output[:600]}"
    answered = trial["outcome"] == "pass" or (trial["outcome"] == "fail" and attack.either)
    if answered and (attack.ends is None or attack.either):
        return ""
    if not own_users and SHARES in " ".join(trial["detail"]):
        return ""  # while a fork bomb goes off, the limit of the one user is reached for all
    ended = trial["outcome"] in ("error", "skip") or trial["cause"] == "candidate"
    if ended and attack.ends is not None and attack.ends in trial["reason"]:
        return ""
    return f"ended as {trial['outcome']}: {json.dumps(trial)[:900]}"


def said(ground: Ground, done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What is wrong with what the gate printed and wrote."""
    printed = (done.stdout + done.stderr).decode("utf-8", "replace")
    wrong = ["the gate itself failed"] if "fault in Gateval" in printed else []
    wrong += [f"let {line!r} through" for line in printed.splitlines() if _is_command(line)]
    if ground.canary in printed:
        wrong.append("the canary was printed")
    for file in ground.results.rglob("*"):
        if file.is_file() and ground.canary in stored.content(file).decode("utf-8", "replace"):
            wrong.append(f"the canary is in {file.name}")
    return wrong


def _is_command(line: str) -> bool:
    return line.lstrip().startswith("::") or "##[" in line or "\x1b" in line


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What was made, removed or changed on the ground."""
    paths = before.keys() | after.keys()
    return [f"{p} was changed" for p in sorted(paths) if before.get(p) != after.get(p)]


def left(ground: Ground, *, own_users: bool) -> list[str]:
    """What is still there some seconds after the run."""
    deadline = time.monotonic() + 30
    while (found := _processes(ground)) and time.monotonic() < deadline:
        time.sleep(0.1)
    shared = ("/tmp", "/var/tmp", "/dev/shm")
    files = [
        path for folder in shared for path in Path(folder).iterdir() if ground.hour in path.name
    ]
    if not own_users:
        for path in files:
            subprocess.run(["rm", "-rf", "--", str(path)], check=False)
        files = [path for path in files if str(path.parent) not in LEAVES]
    return [*found, *(f"{path} was left" for path in files)]


def test_the_documentation_names_what_differs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    for word in ("container engine's socket", "own limits", "/dev/shm", "System V", "processes"):
        assert word in text


def _processes(ground: Ground) -> list[str]:
    """Processes of the attacks: they know the ground, or sleep for its very own time."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            for source in ("environ", "cmdline"):
                try:
                    content = (process / source).read_bytes()
                except OSError:
                    continue
                if ground.hour.encode() in content:
                    found.append(f"process {process.name} is left: {content[:200]!r}")
    return found
