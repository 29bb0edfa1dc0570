"""Runs people's own checks: each in an export of its own files, as a user of its own, with no key.

They judge candidates, so nothing of them is where a candidate could look; and they come with a pull
request, so they are held as candidates are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, Self

import gateval.checks
from gateval.candidates.base import RuntimeContext
from gateval.candidates.environment import candidate_environment, instance_environment
from gateval.candidates.failures import failure, from_the_export
from gateval.candidates.once import Once
from gateval.candidates.preparing import Layer, Preparation, working_directory
from gateval.candidates.processes import Programs
from gateval.candidates.program import (
    KIB,
    MIB,
    NotStarted,
    Program,
    ProgramLimits,
    Ran,
    private_folders,
)
from gateval.domain.manifests.agent import LayerSpec, RuntimeSpec
from gateval.domain.manifests.fixture import CheckFiles
from gateval.domain.manifests.playground import VARIABLE
from gateval.domain.paths import path_of_text
from gateval.domain.plan.plan import AgentDefinition, LayerInputs, Plan, layer_inputs
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.problems import SourceLocation
from gateval.domain.tree import Revision, Tree
from gateval.domain.trials.trial import Cause, NoAnswer, Side
from gateval.errors import RepositoryError


class CheckExports(Protocol):
    """Where the files of own checks lie."""

    async def check_folder(
        self, files: CheckFiles, revision: Revision, links: Mapping[str, Path]
    ) -> Path:
        """The folder with these files at this revision. Raises `RepositoryError`. `links` are
        symbolic links to what a set-up made: path in the folder → target.
        """


class RevisionFiles(CheckExports, Protocol):
    """The files of any revision of a plan."""

    def tree_at(self, revision: Revision) -> Tree:
        """The tree of a revision. Raises `RepositoryError`."""

    async def write_at(self, inputs: LayerInputs, folder: Path, revision: Revision) -> None:
        """Write inputs of a layer into an empty folder. Raises `RepositoryError`."""


@dataclass(frozen=True)
class _AtRevision:
    """What a set-up sees, as the check's revision has it."""

    files: RevisionFiles
    revision: Revision
    hidden: frozenset[str]

    def inputs(self, agent: AgentDefinition, spec: LayerSpec) -> LayerInputs:
        return layer_inputs(agent, spec, self.files.tree_at(self.revision), self.hidden)

    async def write_inputs(self, agent: AgentDefinition, inputs: LayerInputs, folder: Path) -> None:
        del agent
        await self.files.write_at(inputs, folder, self.revision)


LIBRARY = "{library}"
"""Stands in a word of a check's command for the folder that holds `gateval.checks`."""

RUNNER = "run_check.py"
"""The file in there that runs a function: it is told the file and the name."""

_RUNNER = "import sys\nfrom gateval.checks import main\nmain(*sys.argv[1:])\n"


def write_library(folder: Path) -> Path:
    """Write the folder from which a check imports `gateval.checks` and nothing else of us."""
    files = {
        RUNNER: _RUNNER,
        "gateval/__init__.py": "",
        "gateval/checks.py": Path(gateval.checks.__file__).read_text(encoding="utf-8"),
    }
    for one in (folder, folder / "gateval"):
        one.mkdir(mode=0o755)
        one.chmod(0o755)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o644)
    return folder


AT_ONCE = 4
"""Checks that run side by side, over all trials."""

STDOUT_BYTES = 256 * KIB
"""What a check may print; its answer is one small JSON object."""

_GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class CheckOrder:
    """One run of an own check: its command, its files, what it reads, how many seconds it has.

    `python` says that it gets to import `gateval.checks`, wherever that is (`LIBRARY`). `setup`
    installs what it needs. `playground` is a copy of the trial's end state, which it may write.
    """

    argv: tuple[str, ...]
    files: CheckFiles
    stdin: bytes
    seconds: float
    python: bool = False
    setup: LayerSpec | None = None
    playground: Path | None = None


class OwnChecks(Protocol):
    """What runs the checks of one revision."""

    async def run(self, order: CheckOrder) -> bytes:
        """Run one to its good end and return what it printed. Raises `CheckFailed`."""


class CheckFailed(Exception):
    """A check gave no answer: whose fault that is, and why, as a sentence."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause
        self.reason = reason


class Checks:
    """Runs own checks. Use it as `async with Checks(...) as checks`."""

    def __init__(self, context: RuntimeContext, plan: Plan, exports: RevisionFiles) -> None:
        """`context` is that of candidates; a check sees nothing of what the policy gives them."""
        self._context = replace(context, environ=candidate_environment(context.environ))
        self._name = f"check-{context.run}"
        self._plan = plan
        self._exports = exports
        self._programs = Programs(context.clock, context.starter)
        self._places = asyncio.Semaphore(AT_ONCE)
        self._library: Once[Path] = Once()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._programs.close()

    def of(self, planned: PlannedEval) -> OwnChecks:
        """What runs the checks of an Eval: head's as head has them, the target branch's as that."""
        return _Bound(self, self._plan.base_tip if planned.bar else self._plan.head)

    async def run(self, order: CheckOrder, revision: Revision) -> bytes:
        """Run one check to its good end. Raises `CheckFailed`."""
        limits = ProgramLimits(
            seconds=order.seconds,
            grace_seconds=_GRACE_SECONDS,
            stdout_kept=STDOUT_BYTES,
            stdout_bytes=STDOUT_BYTES,
            stderr_bytes=MIB,
        )
        try:
            ran = await self._run(order, revision, limits)
        except NotStarted as error:
            missing = _NOT_THERE.format(error.missing)  # no set-up of an Agent installs it
            gate = error.cause is Cause.GATE
            reason = missing if error.missing else error.reason
            raise CheckFailed(Cause.GATE if gate else Cause.CHECK, reason)
        except RepositoryError as error:
            raise CheckFailed(Cause.GATE, f"Its files could not be exported: {error.message}")
        failed = failure("It", ran, order.argv, limits)
        if failed is None:
            return ran.stdout
        raise self._failed(failed)

    async def _run(self, order: CheckOrder, revision: Revision, limits: ProgramLimits) -> Ran:
        layer: Layer | None = None
        if order.setup is not None:
            made = await self._made(order.setup, order.files, revision)
            if isinstance(made, NoAnswer):
                raise self._failed(made)
            layer = made
        links = layer.links if layer else {}
        export = await self._exports.check_folder(order.files, revision, links)
        folder = working_directory(export, path_of_text(order.files.rules.folder))
        if isinstance(folder, NoAnswer):
            raise RepositoryError("the fixture's folder is none of them.")
        library: Path | None = None
        if order.python:
            write = partial(
                asyncio.to_thread, write_library, self._context.scratch / "check-library"
            )
            library = await self._library.get("library", write)
        async with self._places, private_folders(self._context.scratch) as private:
            literals = {VARIABLE: str(order.playground)} if order.playground else {}
            env = instance_environment(self._context.environ, self._name, private, literals)
            argv = tuple(word.replace(LIBRARY, str(library or "")) for word in order.argv)
            reads = tuple(one for one in (library, layer and layer.root) if one)
            lent = (order.playground,) if order.playground else ()
            program = Program(argv, folder, env, order.stdin, lent, reads, offline=True)
            return await self._programs.run(program, limits)

    async def _made(
        self, spec: LayerSpec, files: CheckFiles, revision: Revision
    ) -> Layer | NoAnswer:
        """Return what a set-up makes, made if nobody has. Raises `RepositoryError`."""
        folder = path_of_text(files.rules.folder)
        check = AgentDefinition(
            name="check",
            side=Side.HEAD,
            place=SourceLocation(file=folder),
            runtime=RuntimeSpec(type="command", setup=spec),
            folder=folder,
            cwd=folder,
            closure="",
            files=files.rules,
        )
        inputs = _AtRevision(self._exports, revision, frozenset(files.hidden))
        making = Preparation(check, self._context, inputs, self._programs, self._name)
        return await making.layer(spec)

    def _failed(self, silence: NoAnswer) -> CheckFailed:
        told = from_the_export(silence, self._context.scratch)
        last = f" It said last: {told.detail[-1]}" if len(told.detail) > 1 else ""
        gate = silence.cause is Cause.GATE
        return CheckFailed(Cause.GATE if gate else Cause.CHECK, f"{told.reason}{last}")


@dataclass(frozen=True)
class _Bound:
    checks: Checks
    revision: Revision | None

    async def run(self, order: CheckOrder) -> bytes:
        if self.revision is None:
            raise CheckFailed(Cause.GATE, "The plan does not say at which revision it is.")
        return await self.checks.run(order, self.revision)


_NOT_THERE = (
    "`{}` was not found. A check has what this machine has and its own files, no set-up of an "
    "Agent: install it here, add it to an image made FROM the gate's, or name a program of the "
    "repository in `command`."
)
