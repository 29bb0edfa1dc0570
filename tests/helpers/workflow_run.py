"""Walks the jobs of a workflow file as GitHub Actions does: `needs`, `if`, matrices, outputs,
artifacts of all attempts, and running again what failed. Only what our samples write is understood;
anything else raises. The gate's step is the real action entry.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.helpers.github_shop import GitHubShop
from tests.helpers.runner import Ended
from tests.servers.github.state.pull import Pull

_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}", re.DOTALL)


@dataclass
class Leg:
    """One job, of a matrix or alone, as it ended at its last attempt."""

    result: str
    outputs: dict[str, str] = field(default_factory=dict)
    ended: Ended | None = None


@dataclass
class WorkflowWalk:
    """One run of a workflow on a pull request. `disturb` is asked before each leg, with the job, the
    shard (empty without) and the attempt: `lost` is a machine that never came back, `cancelled`
    the whole run's end there. `secrets` are in the environment of each step of the gate.
    """

    shop: GitHubShop
    pull: Pull
    path: Path
    run: int
    disturb: Callable[[str, str, int], str] = lambda *_: ""
    secrets: Mapping[str, str] = field(default_factory=dict)
    attempt: int = 1
    legs: dict[str, dict[str, Leg]] = field(default_factory=dict)
    artifacts: dict[str, dict[str, bytes]] = field(default_factory=dict)
    ran: list[tuple[str, str, int]] = field(default_factory=list)
    environs: dict[str, set[str]] = field(default_factory=dict)
    cancelled: bool = False
    _attempts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.jobs: dict[str, Any] = yaml.safe_load(self.path.read_text("utf-8"))["jobs"]

    def walk(self) -> None:
        """Run all jobs in their order."""
        for name in self.jobs:
            self._job(name, lambda _: True)

    def run_failed_again(self) -> None:
        """Run what failed or was cancelled again, and whatever needs that."""
        self.attempt += 1
        self.cancelled = False
        again: set[str] = set()
        for name, job in self.jobs.items():
            legs = self.legs[name]
            bad = {at for at, leg in legs.items() if leg.result in {"failure", "cancelled"}}
            if again.intersection(_list(job.get("needs"))):
                self._job(name, lambda _: True)
                again.add(name)
            elif bad:
                self._job(name, bad.__contains__)
                again.add(name)

    def run_all_again(self) -> None:
        """Run every job again; what was uploaded stays."""
        self.attempt += 1
        self.cancelled, self.legs = False, {}
        self.walk()

    def result(self, name: str) -> str:
        """How a job ended: that of its worst leg."""
        found = [leg.result for leg in self.legs[name].values()]
        order = ("cancelled", "failure", "success", "skipped")
        return next(one for one in order if one in found)

    def _job(self, name: str, may: Callable[[str], bool]) -> None:
        job, before = self.jobs[name], self.legs.get(name, {})
        if not self._holds(str(job.get("if", "success()")), job):
            self.legs[name] = {"": Leg("skipped")}
            return
        matrix = job.get("strategy", {}).get("matrix", {})
        shards = [""]
        if matrix:
            assert job["strategy"]["fail-fast"] is False
            (key,) = matrix
            assert key == "shard"
            shards = json.loads(self._text(matrix[key], job))
            assert shards, f"{name}: an empty matrix fails the run"
            assert len(shards) <= 256
        self.legs[name] = {
            at: self._leg(name, job, at) if may(at) or at not in before else before[at]
            for at in shards
        }

    def _leg(self, name: str, job: Mapping[str, Any], shard: str) -> Leg:
        self.ran.append((name, shard, self.attempt))
        said = self.disturb(name, shard, self.attempt)
        if said:
            self.cancelled = said == "cancelled"
            return Leg("cancelled" if self.cancelled else "failure")
        machine = self.shop.on_pull(self.pull, run=self.run, attempt=self.attempt)
        may = {key.replace("-", "_"): value for key, value in job["permissions"].items()}
        machine.token = self.shop.token(**may)
        found: Ended | None = None
        for step in job["steps"]:
            uses = step.get("uses", "").split("@")[0]
            given = {
                key: self._text(value, job, shard) for key, value in step.get("with", {}).items()
            }
            always = bool(re.search(r"always\(\)|!cancelled\(\)", str(step.get("if", ""))))
            if found is not None and found.code and not always:
                continue
            match uses:
                case "actions/checkout":
                    pass
                case "actions/download-artifact":
                    every = "github-token" in given and may.get("actions") == "read"
                    self._download(machine.workspace, given, every=every)
                case "actions/upload-artifact":
                    self._upload(machine.workspace, given)
                case "gateval/gateval":
                    self.environs.setdefault(name, set()).update(step.get("env", {}))
                    found = machine.run_action(inputs=given, **self.secrets)
                case _:
                    raise AssertionError(step)
        assert found is not None
        outputs = {
            key: found.outputs.get(value.split(".")[-1].strip(" }"), "")
            if "steps." in value
            else self._text(value, job, shard)
            for key, value in job.get("outputs", {}).items()
        }
        return Leg("failure" if found.code else "success", outputs, found)

    def _download(self, workspace: Path, given: Mapping[str, str], *, every: bool) -> None:
        """Download what this attempt left; `every` one only by the API, with a token that may. One
        of that name goes into the folder itself; where there is none, the step is tolerated.
        """
        place = workspace / given["path"]
        shutil.rmtree(place, ignore_errors=True)
        alone = given.get("name", "")
        start = alone or given["pattern"].removesuffix("*")
        place.mkdir(parents=True)
        for name, files in self.artifacts.items():
            fits = name == alone if alone else name.startswith(start)
            if fits and (every or self._attempts[name] == self.attempt):
                inner = place if alone else place / name
                inner.mkdir(exist_ok=True)
                for file, content in files.items():
                    (inner / file).write_bytes(content)

    def _upload(self, workspace: Path, given: Mapping[str, str]) -> None:
        name, file = given["name"], workspace / given["path"]
        assert not re.search(r'[":<>|*?\r\n\\/]', name)
        if not file.exists():
            assert given["if-no-files-found"] == "ignore", file
            return
        assert name not in self.artifacts, f"409 Conflict: {name}"
        found = [file] if file.is_file() else [one for one in file.iterdir() if one.is_file()]
        self.artifacts[name] = {one.name: one.read_bytes() for one in found}
        self._attempts[name] = self.attempt

    def _holds(self, condition: str, job: Mapping[str, Any]) -> bool:
        """Whether an `if` holds. One that names no status function asks for success before."""
        text = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", condition.strip(), flags=re.DOTALL)
        needs = _list(job.get("needs"))
        if not re.search(r"\b(always|cancelled|success|failure)\(\)", text):
            text = f"success() && ({text})"
        good = all(self.result(one) == "success" for one in needs) and not self.cancelled
        values = {"always()": True, "cancelled()": self.cancelled, "success()": good}
        for name, value in values.items():
            text = text.replace(name, str(value))
        text = re.sub(
            r"needs\.([\w-]+)\.result", lambda found: self._need(found[1], needs, ""), text
        )
        text = re.sub(
            r"needs\.([\w-]+)\.outputs\.([\w-]+)",
            lambda found: self._need(found[1], needs, found[2]),
            text,
        )
        head = self.pull.head_repo
        text = text.replace(
            "github.event.pull_request.head.repo.full_name",
            repr(head.full_name if head else ""),
        )
        text = text.replace("github.repository", "'acme/shop'").replace("github.actor", "'ada'")
        words = text.replace("&&", " and ").replace("||", " or ")
        words = re.sub(r"!(?!=)", " not ", words)
        assert re.fullmatch(r"(?:'[^']*'|[\s()]|and|or|not|True|False|==|!=)*", words), words
        return bool(eval(words.strip(), {"__builtins__": {}}))  # noqa: S307 - of those words alone

    def _need(self, job: str, needs: list[str], output: str) -> str:
        assert job in needs, f"needs has no {job}, so it is always empty there"
        if not output:
            return repr(self.result(job))
        found = [leg.outputs.get(output, "") for leg in self.legs[job].values()]
        return repr(found[-1])

    def _text(self, value: object, job: Mapping[str, Any], shard: str = "") -> str:
        """Return a value with its expressions evaluated."""
        known = {
            "matrix.shard": shard,
            "github.run_attempt": str(self.attempt),
            "github.token": "the job's",
        }

        def said(found: re.Match[str]) -> str:
            needed = r"(?:fromJSON\()?needs\.([\w-]+)\.outputs\.([\w-]+)\)?"
            if of := re.fullmatch(needed, found[1]):
                return str(eval(self._need(of[1], _list(job["needs"]), of[2])))  # noqa: S307
            return known[found[1]]

        if isinstance(value, bool):
            return str(value).lower()
        return _EXPRESSION.sub(said, str(value))


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())
