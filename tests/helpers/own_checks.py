"""Own checks run as a run runs them, but from a folder and not from git, and without walls."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

from gateval.adapters.machine import SystemClock
from gateval.candidates.base import RuntimeContext
from gateval.candidates.checks import CheckOrder, Checks
from gateval.candidates.program import Groups, Starter
from gateval.domain.manifests.fixture import OWN_CHECKS, AssertionSpec, CheckFiles, Fixture
from gateval.domain.plan.plan import LayerInputs, Plan
from gateval.domain.tree import FileRules, Revision, Tree

TREE = Revision(name="x", commit=None, tree="0" * 40)
FILES = CheckFiles(rules=FileRules(), digest="0")
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class OneFolder:
    """Exports that are one folder, whatever is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def check_folder(
        self, files: CheckFiles, revision: Revision, links: Mapping[str, Path]
    ) -> Path:
        return self.folder

    def tree_at(self, revision: Revision) -> Tree:
        raise NotImplementedError("a test of layers takes a repository")

    async def write_at(self, inputs: LayerInputs, folder: Path, revision: Revision) -> None:
        raise NotImplementedError("a test of layers takes a repository")


class Runner:
    """Runs checks, bound to no Eval."""

    def __init__(self, checks: Checks) -> None:
        self.checks = checks

    async def run(self, order: CheckOrder) -> bytes:
        return await self.checks.run(order, TREE)


@contextlib.asynccontextmanager
async def runner(
    folder: Path, scratch: Path | None = None, starter: Starter | None = None
) -> AsyncIterator[Runner]:
    """Give what runs the checks that stand in a folder."""
    with tempfile.TemporaryDirectory() as made:
        plan = Plan(head=TREE, nothing="Nothing.")
        nobody = cast("Any", None)  # checks ask no model and no server
        context = RuntimeContext(
            "run", nobody, None, nobody, PATH, SystemClock(), nobody, scratch or Path(made),
            starter or Groups(), lambda _: None,
        )  # fmt: skip
        checks = Checks(context, plan, OneFolder(folder))
        async with checks:
            yield Runner(checks)


def with_files(fixture: Fixture) -> Fixture:
    """The fixture as it is once its revision was read."""

    def filled(spec: AssertionSpec) -> AssertionSpec:
        own = FILES if spec.type in OWN_CHECKS else None
        return spec.model_copy(update={"own": own, "parts": tuple(map(filled, spec.parts))})

    return fixture.model_copy(update={"assertions": tuple(map(filled, fixture.assertions))})
