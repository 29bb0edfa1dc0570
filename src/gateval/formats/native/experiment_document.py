"""What people write of an experiment, and the files that it names.

The program is an argument of the interpreter, so that it needs no file beside the function's own.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from gateval.domain.base import JsonObject, ModelName, Name, Spec
from gateval.domain.manifests.agent import Agent, AgentSpec, LayerSpec, RuntimeSpec
from gateval.domain.manifests.evaluation import ExecutionSpec, JudgeSpec
from gateval.domain.paths import resolve_path, show_path
from gateval.domain.problems import Problem
from gateval.domain.text import quote
from gateval.domain.tree import is_lfs_pointer
from gateval.formats.base import GatheringContext, Source
from gateval.formats.native.cron import Schedule, TimeZone
from gateval.formats.native.written import Written, canonical, envelope, meaning
from gateval.formats.problems import problem_at
from gateval.formats.yaml_document import DocumentPath


class TaskSpec(Spec):
    """A Python function that is measured: it takes an input and returns what came of it."""

    python: str = Field(pattern=r"^[^/:][^:]*\.py:[A-Za-z_]\w*$", max_length=500)
    """The file, relative to the manifest's folder, and the function in it: `task.py:answer`. It may
    be `async`."""
    interpreter: tuple[str, ...] = Field(default=("python3",), min_length=1)
    """The command that starts Python (3.8 or newer) with what the function imports."""
    models: tuple[ModelName, ...] = ()
    """Models as `provider/model-id` that the function may ask."""
    setup: tuple[str, ...] | LayerSpec = ()
    """Installs what the function needs, as `runtime.setup` of an Agent."""
    include: tuple[str, ...] = ()
    """Patterns of further files that it needs, relative to the manifest's folder; with a leading
    `/`, to the repository root."""
    watch: tuple[str, ...] | None = None
    """Patterns of the files that the function is, relative to the manifest's folder. Default:
    everything there."""
    env: dict[str, str] = {}
    """Environment variables with literal values; no secrets."""

    @field_validator("interpreter")
    @classmethod
    def _takes_words_as_they_are(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if any("{" in word for word in words):
            raise ValueError("Nothing is filled in here: write words without braces.")
        return words


class FeedbackSpec(Spec):
    """What people said of answers."""

    file: str = Field(min_length=1, max_length=1000)
    """The path of a `.csv` or `.jsonl` file, as that of `data`."""
    scorer: str | None = None
    """The judged scorer that they speak of: what they said of answers makes the JudgeCalibration
    `NAME-feedback`."""


class ExperimentBody(Spec):
    """`spec` of an Experiment."""

    target_agent: Name | None = None
    """The Agent that is measured."""
    task: TaskSpec | None = None
    """In place of `targetAgent`, a function that is measured."""
    data: str | tuple[JsonObject, ...] = Field(min_length=1, max_length=10_000)
    """The golden set: rows with `input`, `expected`, `reference` and `id`, or the path of a file
    with such (`.json`, `.jsonl`, `.csv`, `.yaml`), from the manifest's folder or, after a `/`, from
    the repository's root."""
    scorers: tuple[str | JsonObject, ...] = Field(min_length=1, max_length=100)
    """What scores each answer between 0 and 1: names, or mappings with `type` and options, `name`
    and `weight`."""
    judge: JudgeSpec = JudgeSpec()
    execution: ExecutionSpec = ExecutionSpec()
    pass_threshold: float | None = Field(default=None, ge=0, le=1)
    """The mean of all scorers' averages that is asked for. If absent, none is: what blocks is a
    score that fell, beyond what chance does."""
    feedback: FeedbackSpec | None = None
    """What people said of answers, shown beside the scores."""
    schedule: Schedule = None
    """Cron expression of five fields: a job by the clock runs the experiment when it is due; one
    without it once a day, and on each new commit."""
    time_zone: TimeZone = "UTC"
    """The time zone of `schedule`, such as `Europe/Berlin`."""

    @model_validator(mode="after")
    def _measures_one_thing(self) -> Self:
        if (self.target_agent is None) is (self.task is None):
            raise ValueError("Write `targetAgent` or `task`, one of them.")
        return self


class ExperimentDocument(Written):
    """A golden set that an Agent or a function answers, and the scorers of its answers."""

    kind: Literal["Experiment"]
    spec: ExperimentBody


class Named(NamedTuple):
    """A tracked file: its path from the root, how that is shown, and what it holds."""

    path: str
    shown: str
    content: bytes


def named_file(
    source: Source,
    at: DocumentPath,
    written: str,
    around: GatheringContext,
    endings: tuple[str, ...],
) -> Named | Problem:
    """Return the file that is written at this place of the manifest, or the problem with it."""
    path = resolve_path(source.path.rpartition("/")[0], written)
    if not path:
        message = f"{quote(written)} leads out of the repository."
    elif not path.endswith(endings):
        message = f"The name of {quote(written)} must end in one of {', '.join(endings)}."
    elif path not in around.tree:
        message = (
            f"There is no file {show_path(path)} in this revision. Add it, or track it with git."
        )
    elif not around.tree[path].is_file:
        message = f"{show_path(path)} is a symbolic link or a submodule. Put the file itself there."
    elif (content := around.content(path)) is None:
        message = f"{show_path(path)} is too large to be read. Split it."
    elif is_lfs_pointer(content):
        message = f"{show_path(path)} is a Git LFS pointer. Store the file itself in git."
    else:
        return Named(path, show_path(path), content)
    return problem_at(source.document, at, message)


PROGRAM = """\
import asyncio, importlib.util, inspect, json, os, sys
file, name = sys.argv[1:]
told = json.load(sys.stdin)
answer = os.dup(1)
os.dup2(2, 1)
sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
spec = importlib.util.spec_from_file_location("gateval_task", file)
module = importlib.util.module_from_spec(spec)
sys.modules["gateval_task"] = module
spec.loader.exec_module(module)
asked = told["input"]
made = getattr(module, name)(told["prompt"] if asked["type"] == "prompt" else asked["payload"])
async def waited():
    return await made
if inspect.isawaitable(made):
    made = asyncio.run(waited())
sys.stdout.flush()
with os.fdopen(answer, "w", encoding="utf-8") as out:
    json.dump(dict(output=made), out)
"""
"""It holds no brace, since words of a command are templates. What the function prints is for
people: standard output leads where standard error does."""


def task_agent(source: Source, written: ExperimentDocument) -> Agent | None:
    """Return the Agent that the experiment's function is, of the experiment's name; None without.

    `expected` and `reference` never reach it: it is asked as every candidate is.
    """
    task = written.spec.task
    if task is None:
        return None
    file, _, function = task.python.partition(":")
    runtime = RuntimeSpec(
        type="command",
        command=(*task.interpreter, "-c", PROGRAM, file, function),
        setup=task.setup,
        env=task.env,
    )
    spec = AgentSpec(models=task.models, runtime=runtime, include=task.include, watch=task.watch)
    place = source.document.key_place(("spec", "task"))
    return Agent(
        **{**envelope(source, written), "place": place},
        spec=spec,
        places={"spec.runtime": place, "spec.runtime.command": place, "spec.models": place},
        digest=meaning("Agent", written.metadata, canonical(spec)),
    )
