"""`make image-check`: builds the image and uses it as a runner would.

With Docker, from its real base. Without an engine, as root, with podman and a Debian that stands in
for the base: Python there is 3.11, everything above the base is the real thing. Ends with 3 and the
reason where neither can be had.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples.demo import EXPECTED
from tools.image.base import DOCKERFILE, ROOT, base_reference, stand_in
from tools.image.engine import Engine, find_engine, tail

FOLDER = ROOT / "build" / "image"
IMAGE = "localhost/gateval:check"
NODE_IMAGE = "localhost/gateval-node:check"
PYTHON_IMAGE = "localhost/gateval-python:check"
AGENTS_LOCK = ROOT / "requirements" / "agents.txt"
"""What the demo's agents need."""

LIMIT_MB = 180
RUNNER_UID = 1001
"""Who owns the workspace on GitHub's machines; the container's root is somebody else."""

PARTS = {
    "Python packages": "/opt/gateval",
    "uv": "/usr/local/bin/uv",
    "git": "/usr/bin/git /usr/lib/git-core /usr/share/git-core",
    "Perl, which git brings": "/usr/share/perl /usr/share/perl5 /usr/lib/x86_64-linux-gnu/perl",
}
SEALS = (
    "from gateval.adapters.age import new_identity, opener, seal; "
    "private, public = new_identity(); "
    'print(opener({"GATEVAL_IDENTITY": private})(seal(b"sealed and opened", [public])).decode())'
)
"""Encrypts a text for a new key, and opens it with that."""

LEFTOVERS = "pip pip3 gcc cc make g++"
EXPECTED_EXIT = 1
"""The demo's pull request has a regression."""

EVERY_MODULE = """
import importlib, pkgutil, gateval, github
found = [one.name for one in pkgutil.walk_packages(gateval.__path__, "gateval.")]
for name in found:
    name.endswith("__main__") or importlib.import_module(name)
print(len(found), "modules can be imported")
"""
"""Nothing that was left out of the image is missed by any of them."""


def main() -> int:
    """Check everything and say what was found; 1 if anything is not as it has to be."""
    engine = find_engine(FOLDER)
    if isinstance(engine, str):
        print(f"image-check: this machine cannot: {engine}", file=sys.stderr)
        return 3
    problems = list(check(engine))
    for problem in problems:
        print(f"PROBLEM  {problem}")
    print("image-check: " + (f"{len(problems)} problems." if problems else "all is well."))
    return 1 if problems else 0


def check(engine: Engine) -> Iterator[str]:
    """Build and use the image, saying each result; yield what is wrong."""
    base = stand_in(engine, FOLDER) if engine.needs_stand_in else base_reference()
    print(f"{engine.program}, on {base}" + (", a stand-in" if engine.needs_stand_in else ""))
    started = time.monotonic()
    engine.build(IMAGE, DOCKERFILE, ROOT, [f"BASE={base}"])
    print(f"built in {time.monotonic() - started:.0f} s")
    if not engine.needs_stand_in:
        engine.must("pull", base)
    yield from sizes(engine, base)
    yield from shape(engine)
    yield from samples(engine)
    yield from runner(engine)


def sizes(engine: Engine, base: str) -> Iterator[str]:
    """Measure what the image adds to its base."""
    added = (engine.size(IMAGE) - engine.size(base)) / 1e6
    print(f"{added:.0f} MB above the base, of at most {LIMIT_MB}; its largest parts:")
    for name, paths in PARTS.items():
        measured = shell(engine, f"du -skc {paths} 2>/dev/null | tail -1").split()[0]
        print(f"  {int(measured) * 1.024e-3:5.0f} MB  {name}")
    if added > LIMIT_MB:
        yield f"the image is {added:.0f} MB above its base; at most {LIMIT_MB} are allowed."


def shape(engine: Engine) -> Iterator[str]:
    """Look at what a runner needs, and for what must not be left in."""
    config = engine.config(IMAGE)
    for key, wanted in (("Entrypoint", ["/usr/local/bin/gateval"]), ("Cmd", ["action"])):
        if config.get(key) != wanted:
            yield f"{key} is {config.get(key)}, not {wanted}."
    for key in ("User", "WorkingDir"):
        if config.get(key) not in (None, "", "/"):
            yield f"{key} is set to {config[key]}; a runner needs it unset."
    if not engine.needs_stand_in:  # Debian's Python brings pip, which is the stand-in's own
        left = shell(engine, f"command -v {LEFTOVERS} || true").split()
        if left:
            yield f"left in the image: {', '.join(left)}."
    uncompiled = shell(engine, "find /opt/gateval/lib -name '*.pyc' | wc -l").strip()
    if int(uncompiled) < 500:
        yield "the packages are not compiled."
    yield from libraries(engine)
    imported = f"/opt/gateval/bin/python -c '{EVERY_MODULE}'"
    for command in ("gateval --version", "git --version", "uv --version", imported):
        print("  " + shell(engine, command).strip())


def libraries(engine: Engine) -> Iterator[str]:
    """Use what is imported only where it is needed."""
    filters = "from gateval.candidates.isolation.supervisor.syscalls import compiled; "
    filters += "print(compiled(sockets=True) is not None)"
    if shell(engine, f"/opt/gateval/bin/python -c '{filters}'").strip() != "True":
        yield "libseccomp2 is not in the image, so candidates' system calls are not filtered."
    said = shell(engine, f"/opt/gateval/bin/python -c '{SEALS}'").strip()
    if said != "sealed and opened":
        yield f"sealed manifests cannot be opened in the image: {said}"


def shell(engine: Engine, command: str) -> str:
    """Run a shell command in the image and return what it prints."""
    return engine.must("run", "--rm", "--entrypoint=/bin/sh", IMAGE, "-c", command)


def runner(engine: Engine) -> Iterator[str]:
    """Run the demo's pull request in the image for its agents, with a runner's folders, as root."""
    with tempfile.TemporaryDirectory(prefix="gateval-image-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        build_demo(folder)
        options = runner_options(folder)
        started = time.monotonic()
        done = engine.call("run", *options, PYTHON_IMAGE, *GATE)
        print(f"gateval check in the container: exit {done.returncode}", end=", ")
        print(f"{time.monotonic() - started:.1f} s")
        if done.returncode != EXPECTED_EXIT:
            yield f"the demo ended with {done.returncode}, not {EXPECTED_EXIT}:\n{tail(done)}"
            return
        # As root again: what the container wrote is not for the user of a hosted runner to read.
        shop = f"--volume={folder / 'shop'}:/github/workspace"
        path = f"/github/workspace/{RESULTS}/decision.v1.json"
        decision = engine.must("run", "--rm", shop, "--entrypoint=/bin/cat", IMAGE, path)
        yield from verdicts(json.loads(decision))


def verdicts(decision: dict[str, Any]) -> Iterator[str]:
    """Say what the gate decided about which fixtures; yield where that is not the demo's."""
    found = {(reason["code"], reason["fixture"]) for reason in decision["reasons"]}
    for reason in decision["reasons"]:
        print(f"  {reason['verdict']}, {reason['eval']}: {reason['text']}")
    if decision["verdict"] != "fail":
        yield f"the demo's decision is {decision['verdict']}, not fail."
    for code, fixture in sorted(EXPECTED - found):
        yield f"the decision lacks {code} of {fixture}."


RESULTS = ".gateval/results/image"
GATE = ("check", "--base", "main", "--results", RESULTS)


def build_demo(folder: Path) -> None:
    """Make the demo's repository in `folder`, owned as a runner's workspace is."""
    program = "from pathlib import Path; from examples.demo import build; import sys; "
    program += "build(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", program, folder], cwd=ROOT, check=True)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{RUNNER_UID}:{RUNNER_UID}", folder / "shop"], check=True)


def runner_options(folder: Path) -> list[str]:
    """Return the options with which a runner starts the container of an action."""
    for part in ("home", "workflow", "file_commands"):
        (folder / part).mkdir()
    (folder / "workflow/event.json").write_text("{}")
    for part in ("output", "summary", "state", "env", "path"):
        (folder / "file_commands" / part).touch()
    environ = {
        "HOME": "/github/home",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": "/github/workspace",
        "GITHUB_EVENT_PATH": "/github/workflow/event.json",
        "GITHUB_OUTPUT": "/github/file_commands/output",
        "GITHUB_STEP_SUMMARY": "/github/file_commands/summary",
        "GITHUB_STATE": "/github/file_commands/state",
        "GITHUB_ENV": "/github/file_commands/env",
        "GITHUB_PATH": "/github/file_commands/path",
    }
    mounts = {"shop": "workspace"} | {p: p for p in ("home", "workflow", "file_commands")}
    return [
        "--rm",
        "--network=none",
        "--workdir=/github/workspace",
        *(f"--env={key}={value}" for key, value in environ.items()),
        *(f"--volume={folder / here}:/github/{there}" for here, there in mounts.items()),
    ]


def samples(engine: Engine) -> Iterator[str]:
    """Build the samples of images for agents, and run what that for another language adds."""
    options = tuple(option for option in engine.build_options if option != "--pull")
    same = engine._replace(build_options=options)
    folder = ROOT / "examples" / "images"
    with tempfile.TemporaryDirectory(prefix="gateval-image-") as name:
        shutil.copyfile(AGENTS_LOCK, Path(name) / "requirements.txt")
        python = folder / "python" / "Dockerfile"
        same.build(PYTHON_IMAGE, python, Path(name), [f"GATE={IMAGE}"])
    same.build(NODE_IMAGE, folder / "node" / "Dockerfile", folder / "node", [f"GATE={IMAGE}"])
    command = (
        "run",
        "--rm",
        "--entrypoint=/bin/sh",
        NODE_IMAGE,
        "-c",
        "node --version && gateval --version",
    )
    done = engine.call(*command)
    print("  with Node.js: " + ", ".join(done.stdout.split("\n")).strip(", "))
    if done.returncode:
        yield f"the image with Node.js does not work:\n{tail(done)}"


if __name__ == "__main__":
    raise SystemExit(main())
