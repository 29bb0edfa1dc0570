"""A GitHub Actions runner as a container action meets it: workspace, event, inputs, command files.

What it lays out follows actions/runner (ContainerActionHandler): the job's folders, `INPUT_*` with
their hyphens, `GITHUB_*`, and files for outputs, state and summary. The action itself runs as a
subprocess, from its real command line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.helpers.forked import run_forked
from tests.helpers.made_once import Build, made_once
from tests.helpers.measured import MEASURED
from tests.helpers.repo import Repo

_JOBS = count(1)
_CHECKED_OUT: dict[tuple[str, tuple[str, ...]], Build] = {}
"""By commit and depth; commits of tests are the same again, since their dates are."""


def read_entries(path: Path) -> dict[str, str]:
    """Read a file of outputs or state, as the runner does: the last entry of a name counts."""
    entries: dict[str, str] = {}
    lines = iter(path.read_text().split("\n") if path.exists() else [])
    for line in lines:
        if not line:
            continue
        name, sign, end = line.partition("<<")
        assert sign, f"no entry: {line!r}"
        value = []
        while (part := next(lines)) != end:
            value.append(part)
        entries[name] = "\n".join(value)
    return entries


@dataclass
class Ended:
    """What a step left behind."""

    code: int
    log: str
    errors: str
    outputs: dict[str, str]
    state: dict[str, str]
    summary: str
    workspace: Path

    @property
    def results(self) -> Path:
        """The folder that the output `results` names."""
        return self.workspace / self.outputs["results"]


@dataclass
class Job:
    """One job of one workflow run. `event` is what GITHUB_EVENT_NAME says."""

    folder: Path
    server: str
    api: str
    event: str
    payload: Mapping[str, Any]
    token: str
    ref: str = "refs/heads/main"
    sha: str = "0" * 40
    actor: str = "ada"
    repository: str = "acme/shop"
    run: int = field(default_factory=lambda: next(_JOBS))
    attempt: int = 1

    @property
    def workspace(self) -> Path:
        """Where the repository is checked out."""
        return self.folder / "workspace"

    def check_out(self, source: Path, ref: str, *options: str) -> Repo:
        """Do what actions/checkout does: fetch one ref, shallow unless `options` say otherwise."""
        depth = options or ("--depth=1",)
        commit = Repo.at(source).id(ref)
        if (commit, depth) not in _CHECKED_OUT:

            @made_once
            def build(path: Path) -> Repo:
                repo = Repo(path)
                repo.git("fetch", "--quiet", "--no-tags", *depth, source.as_uri(), ref)
                repo.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
                return repo

            _CHECKED_OUT[commit, depth] = build
        return _CHECKED_OUT[commit, depth](self.workspace)

    def environ(self, inputs: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
        """The environment of the container."""
        home, files = self.folder / "home", self.folder / "file_commands"
        home.mkdir(parents=True, exist_ok=True)
        files.mkdir(exist_ok=True)
        event = self.folder / "event.json"
        event.write_text(json.dumps(self.payload))
        given = {"token": self.token, **inputs}
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TMPDIR": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(self.folder),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTOR": self.actor,
            "GITHUB_API_URL": self.api,
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(files / "output"),
            "GITHUB_REF": self.ref,
            "GITHUB_REPOSITORY": self.repository,
            "GITHUB_RUN_ATTEMPT": str(self.attempt),
            "GITHUB_RUN_ID": str(self.run),
            "GITHUB_SERVER_URL": self.server,
            "GITHUB_SHA": self.sha,
            "GITHUB_STATE": str(files / "state"),
            "GITHUB_STEP_SUMMARY": str(files / "summary"),
            "GITHUB_WORKSPACE": str(self.workspace),
            **{f"INPUT_{name.upper()}": value for name, value in given.items()},
            **MEASURED,
            **extra,
        }

    def start(
        self, *arguments: str, inputs: Mapping[str, str] = {}, **extra: str
    ) -> subprocess.Popen[str]:
        """Start the action's entry."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "gateval", "action", *arguments],
            cwd=self.workspace,
            env=self.environ(inputs, extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, process: subprocess.Popen[str], *, timeout: float = 150) -> Ended:
        """Wait for its end and collect what it left."""
        log, errors = process.communicate(timeout=timeout)
        return self._ended(process.returncode, log, errors)

    def _ended(self, code: int, log: str, errors: str) -> Ended:
        files = self.folder / "file_commands"
        summary = files / "summary"
        assert "Traceback" not in log + errors, errors
        return Ended(
            code,
            log,
            errors,
            read_entries(files / "output"),
            read_entries(files / "state"),
            summary.read_text() if summary.exists() else "",
            self.workspace,
        )

    def run_action(self, *, inputs: Mapping[str, str] = {}, **extra: str) -> Ended:
        """Run the action's own entry to its end."""
        return self._run("action", inputs=inputs, **extra)

    def _run(self, *arguments: str, inputs: Mapping[str, str], **extra: str) -> Ended:
        env = self.environ(inputs, extra)
        ran = run_forked(arguments, self.workspace, env, seconds=150)
        return self._ended(ran.returncode, ran.stdout, ran.stderr)

    def run_post(self, *, inputs: Mapping[str, str] = {}) -> Ended:
        """Run the entry after the job, with the state that the first one kept."""
        state = read_entries(self.folder / "file_commands" / "state")
        kept = {f"STATE_{name}": value for name, value in state.items()}
        return self._run("action", "post", inputs=inputs, **kept)
