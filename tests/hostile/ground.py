"""The ground for attacks: laid out as a runner lays it out, with a canary wherever a secret lies."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gateval.candidates.isolation.visible_paths import passable
from tests.helpers.isolation import open_python
from tests.helpers.repo import Repo
from tests.hostile.attacks.attack import Attack
from tests.servers.model_server import Answer, Call, ModelServer, failure, reply, streamed

ROOT = Path(__file__).parents[2]
WITNESS_TRIALS = 12

CREDENTIALS = (".netrc", ".cargo/credentials.toml", ".docker/config.json")
"""In the gate's home. Beside the latter two lie folders that are on PATH."""

ATTACKER = """\
import json, runpy, sys
name = json.load(sys.stdin)["prompt"] if sys.argv[1:] == [] else sys.argv[1]
runpy.run_path(f"attacks/{name}.py", run_name="__main__")
"""

CHOICES = {"anyOf": [{"items": {"anyOf": [{"items": {"const": 1}}] * 9}}] * 9}
CATASTROPHIC_SCHEMA = {
    "properties": {
        "nothing reached": {"pattern": "^((a|a)*)*$"},
        "deep": {"items": {"allOf": [CHOICES] * 9}},
    }
}
"""A pattern that takes for ever where it is tried step by step, and choices within choices."""

WITNESS = """\
import http.client, json, os, sys, time, urllib.parse
question = json.load(sys.stdin)["prompt"]
base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
time.sleep(0.3)
line = http.client.HTTPConnection(base.hostname, base.port, timeout=30)
asked = {"model": "gpt-test", "messages": [{"role": "user", "content": question}]}
line.request("POST", base.path + "/chat/completions", json.dumps(asked),
             {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
with open(os.environ["HOME"] + "/note", "w") as note: note.write("mine")
answer = json.loads(line.getresponse().read())["choices"][0]["message"]["content"]
left = os.listdir(os.environ["HOME"]) + os.listdir(os.environ["TMPDIR"])
print(f"well: {answer} {left}")
"""


class Ground:
    """Folders of a runner below `base`, and what the gate's environment says of them."""

    def __init__(self, base: Path, attacks: tuple[Attack, ...]) -> None:
        self.base = base
        self.attacks = attacks
        self.hour = str(secrets.randbelow(10**8) + 10**8)
        self.canary = f"canary{secrets.token_hex(8)}"
        self.workspace = base / "github" / "workspace"
        self.event = base / "github" / "workflow" / "event.json"
        self.home = base / "github" / "home"
        self.results = base / "github" / "workspace" / "out"
        self.temporary = base / "tmp"
        self.socket = base / "engine.sock"
        self.terminal = ""
        kinds = ("env", "output", "path", "state", "step_summary")
        self.commands = {kind: base / "github" / "file_commands" / kind for kind in kinds}

    def build(self) -> None:
        """Write it all."""
        self._repository()
        with (self.workspace / ".git/config").open("a") as config:
            config.write('[http "https://github.com/"]\n')
            config.write(f"\textraheader = AUTHORIZATION: basic {self.canary}\n")
        for folder in (self.event.parent, self.home, self.commands["env"].parent, self.temporary):
            folder.mkdir(parents=True)
        self.event.write_text(json.dumps({"secret": self.canary}))
        for name in CREDENTIALS:
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(f"password {self.canary}")
        for name in (".cargo/bin/cargo", ".docker/bin/docker"):
            (self.home / name).parent.mkdir()
            (self.home / name).write_text("#!/bin/sh\necho cargo runs\n")
            (self.home / name).chmod(0o755)
        for file in self.commands.values():
            file.write_text(f"{self.canary}\n")
            file.chmod(0o666)
        self.temporary.chmod(0o777)

    def _repository(self) -> None:
        repo = Repo(self.workspace)
        for name in ("attacker", "witness"):
            repo.write(f"agents/{name}.yaml", yaml.safe_dump(_agent(name)))
        repo.write("code/attacker.py", ATTACKER)
        repo.write("code/witness.py", WITNESS)
        documents = []
        for attack in self.attacks:
            repo.write(f"code/attacks/{attack.name}.py", attack.program)
            documents.append(_fixture(attack))
        documents.append(_witness_fixture())
        documents += [
            _eval("brief", "attacker", seconds=3, parallel=6),
            _eval("long", "attacker", seconds=20, parallel=6),
            _eval("witness", "witness", seconds=60, parallel=2, repetitions=WITNESS_TRIALS),
        ]
        repo.write("evals/all.yaml", yaml.safe_dump_all(documents))
        repo.commit()

    def environment(self, provider: str) -> dict[str, str]:
        """The gate's environment on a runner: files, folders, and a canary in each credential."""
        layout = {
            "workspace": str(self.workspace),
            "event": str(self.event),
            "home": str(self.home),
            "results": str(self.results),
            "socket": str(self.socket),
            "credentials": list(CREDENTIALS),
            "terminal": self.terminal,
            "commands": [str(file) for file in self.commands.values()],
            "hour": self.hour,
        }
        tools = ":".join(f"{self.home}/{name}/bin" for name in (".cargo", ".docker"))
        credentials = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "INPUT_GITHUB-TOKEN",
                       "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "AWS_SECRET_ACCESS_KEY")  # fmt: skip
        return {
            **dict.fromkeys(credentials, self.canary),
            **{f"GITHUB_{kind.upper()}": str(file) for kind, file in self.commands.items()},
            "PATH": f"{os.defpath}:/usr/local/bin:/usr/sbin:/sbin:{tools}",
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_EVENT_PATH": str(self.event),
            "RUNNER_TEMP": str(self.base / "github"),
            "DOCKER_HOST": f"unix://{self.socket}",
            "OPENAI_BASE_URL": provider,
            "GATEVAL_CANDIDATE_MEMORY_MIB": "200",
            "GATEVAL_CANDIDATE_DISK_MIB": "64",
            "GATEVAL_CANDIDATE_FILES": "256",
            "GATEVAL_CANDIDATE_PROCESSES": "100",
            "LC_LAYOUT": json.dumps(layout),
        }

    def fingerprint(self) -> dict[str, str]:
        """What lies on the ground but for the results: path to kind, mode, owner and content."""
        found = {}
        for path in sorted(self.base.rglob("*")):
            if path.is_relative_to(self.results) or path == self.socket:
                continue
            state = path.lstat()
            content = path.read_bytes().hex() if path.is_file() and not path.is_symlink() else ""
            if path.name != "index" or ".git" not in path.parts:
                found[str(path)] = f"{state.st_mode:o} {state.st_uid} {content}"
        return found

    @contextlib.contextmanager
    def inhabited(self, user: int | None) -> Iterator[str]:
        """Have an engine listen, a bystander run and a provider serve; give its address."""
        with (
            _terminal(user) as self.terminal,
            _engine(self.socket, user),
            _abstract(self.hour),
            _provider(self.canary) as url,
        ):
            bystander = subprocess.Popen(
                [*as_user(user), open_python(), "-c", "import time; time.sleep(600)"],
                env={"TOKEN": self.canary},
            )
            try:
                yield url
            finally:
                bystander.kill()
                bystander.wait()


def as_user(user: int | None, group: int | None = None) -> list[str]:
    """The words that start a program as this user, in its own group or another."""
    if user is None:
        return []
    in_group = f"--regid={user if group is None else group}"
    return ["setpriv", f"--reuid={user}", in_group, "--clear-groups", "--inh-caps=-all"]


def gate_command(user: int | None) -> tuple[list[str], dict[str, str]]:
    """The command that is the gate, and the variables it needs to find itself."""
    if user is None:
        return [sys.executable, "-P", "-m", "gateval"], {"PYTHONPATH": str(ROOT / "src")}
    source, site = readable_by_all()
    variables = {"PYTHONPATH": f"{source}:{site}", "PYTHONDONTWRITEBYTECODE": "1"}
    return [*as_user(user), open_python(), "-P", "-m", "gateval"], variables


@cache
def readable_by_all() -> tuple[Path, Path]:
    """The gate's source and packages where every user may read them: copies, if a home hides them."""
    found = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    if passable(str(found)) and passable(str(ROOT / "src")):
        return ROOT / "src", found
    folder = Path(tempfile.mkdtemp(prefix="gateval-test-gate-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    for source, name in ((ROOT / "src", "src"), (found, "site-packages")):
        try:
            shutil.copytree(source, folder / name, copy_function=os.link)
        except (OSError, shutil.Error):  # another file system
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(source, folder / name)
    return folder / "src", folder / "site-packages"


def _agent(name: str) -> dict[str, Any]:
    runtime = {"type": "command", "cwd": "../code", "command": [open_python(), "-S", f"{name}.py"]}
    spec = {"models": ["openai/gpt-test"], "runtime": runtime, "watch": ["/code/**"]}
    spec["modelCalls"] = "optional"  # what an attack says counts, though its calls were refused
    return {"apiVersion": "gateval/v1", "kind": "Agent", "metadata": {"name": name}, "spec": spec}


def _fixture(attack: Attack) -> dict[str, Any]:
    """A trial passes when the attack says that it got nowhere; hostile patterns look at it too."""
    assertions: list[dict[str, Any]] = [{"type": "contains", "value": "nothing reached"}]
    if attack.name == "catastrophic-answer":
        assertions += [
            {"type": "regex", "pattern": "^(a|a)*nothing$|nothing"},
            {"type": "regex", "pattern": "((a{1,30}){1,30})+!"},
        ]
    if attack.name == "catastrophic-schema":
        assertions.append({"type": "jsonSchema", "schema": CATASTROPHIC_SCHEMA})
    return {
        "apiVersion": "gateval/v1",
        "kind": "EvalFixture",
        "metadata": {
            "name": attack.name,
            "labels": {"in": "brief" if attack.seconds <= 3 else "long"},
        },
        "spec": {
            "input": {"type": "prompt", "payload": {"prompt": attack.name}},
            "assertions": assertions,
        },
    }


def _witness_fixture() -> dict[str, Any]:
    expected = "well: hello from the model ['note']"
    return {
        "apiVersion": "gateval/v1",
        "kind": "EvalFixture",
        "metadata": {"name": "witness", "labels": {"in": "witness"}},
        "spec": {
            "input": {"type": "prompt", "payload": {"prompt": "witness"}},
            "assertions": [{"type": "equals", "value": expected}],
        },
    }


def _eval(
    name: str, agent: str, *, seconds: int, parallel: int, repetitions: int = 1
) -> dict[str, Any]:
    execution = {"timeoutSeconds": seconds, "parallel": parallel, "repsPerFixture": repetitions}
    return {
        "apiVersion": "gateval/v1",
        "kind": "Eval",
        "metadata": {"name": name},
        "spec": {
            "targetAgent": agent,
            "fixtureSelector": {"matchLabels": {"in": name}},
            "execution": execution,
        },
    }


@contextlib.contextmanager
def _engine(path: Path, user: int | None) -> Iterator[None]:
    """Listen as a container engine would, for root and the engine's group only."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        path.chmod(0o660)
        if user is not None and os.geteuid() == 0:
            os.chown(path, user, user)
        door.listen()
        yield


@contextlib.contextmanager
def _terminal(user: int | None) -> Iterator[str]:
    """Open a terminal of this user, in which somebody could be typing; give its path."""
    ours, theirs = os.openpty()
    if user is not None:
        os.chown(theirs, user, -1)
    try:
        yield os.ttyname(theirs)
    finally:
        os.close(ours)
        os.close(theirs)


@contextlib.contextmanager
def _abstract(token: str) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"\0gateval-canary-{token}")
        door.listen()
        yield


@contextlib.contextmanager
def _provider(canary: str) -> Iterator[str]:
    """Serve as a provider whose errors repeat the key that it was asked with."""

    def respond(call: Call) -> Answer:
        key = call.headers.get("authorization", "")
        if not call.path.endswith("/chat/completions"):
            return Answer(body=json.dumps({"data": [canary]}).encode())
        word = call.body["messages"][-1]["content"]
        if word == "echo-the-key":
            return failure(call, 401, f"Incorrect API key provided: {key}", x_key=key)
        if word == "long-stream":
            return streamed(call, "word " * 2_000, pause=0.005)
        if word == "redirect":
            return Answer(307, b"metadata", {"Location": "http://169.254.169.254/" + canary})
        return reply(call, "hello from the model")

    loop = asyncio.new_event_loop()
    started: list[str] = []
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with ModelServer(respond, keep_calls=False) as server:
            started.append(server.openai_url)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait(10)
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def own(folder: Path, user: int) -> None:
    """Make this user the owner of a folder with all that is in it."""
    shutil.chown(folder, user, user)
    for path in folder.rglob("*"):
        os.chown(path, user, user, follow_symlinks=False)
