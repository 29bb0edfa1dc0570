"""The inputs of the GitHub Action: the runner's INPUT_* variables as one frozen value. Pure.

The runner writes names in upper case and keeps hyphens: `INPUT_PULL-REQUEST`. Inputs that are not
given are empty. It only warns of unknown ones, so they are refused here: a mistyped input would
otherwise be obeyed by nobody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from gateval.domain.base import NAME_PATTERN, is_sha
from gateval.domain.forge.check_run import CommentMode
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.paths import nearest, resolve_path
from gateval.domain.results.shards import MOST_SHARDS, ShardName, shard_name
from gateval.domain.setup.gate_job import RUN_MINUTES
from gateval.domain.text import quote
from gateval.errors import UsageError


class ActionStep(StrEnum):
    """Which part of the way to go."""

    ALL = "all"
    PLAN = "plan"
    RUN = "run"
    NEXT = "next"
    FINISH = "finish"
    PUBLISH = "publish"


NAMES = (
    "token", "extends-token", "config", "pull-request", "head-sha", "agents", "evals", "comment",
    "max-parallel", "max-minutes", "results", "step", "shards", "shard", "round", "parts",
)  # fmt: skip
OF_THE_RUNNER = frozenset({"ARGS", "ENTRYPOINT"})
"""`with:` of a container action holds these two as well; they are the runner's."""

MOST_PARALLEL = 1_000
MOST_MINUTES = 7_200
"""Five days, after which GitHub ends a job on a runner of one's own."""

MOST_ROUNDS = 20


@dataclass(frozen=True)
class ActionInputs:
    """What `with:` says. `config` is a path in the repository, `results` one in the workspace.

    `agents` and `evals` are sorted; empty means all. `results` is empty for a new folder,
    `extends_token` where the other token reads what the gate config extends. `shards` is None where
    nobody asks for any, 0 where as many are made as are worth it. `shard` is None for no share.
    """

    token: str = field(default="", repr=False)
    extends_token: str = field(default="", repr=False)
    config: str = GATE_CONFIG_PATH
    pull_request: int | None = None
    head_sha: str = ""
    agents: tuple[str, ...] = ()
    evals: tuple[str, ...] = ()
    comment: CommentMode = CommentMode.ALWAYS
    max_parallel: int | None = None
    max_minutes: float = RUN_MINUTES
    results: str = ""
    step: ActionStep = ActionStep.ALL
    shards: int | None = None
    shard: ShardName | None = None
    round: int = 1
    parts: str = ""

    @property
    def measures_a_stage(self) -> bool:
        """Whether this is one job of several that measure a run together."""
        asked = self.step is ActionStep.RUN and self.shard is not None
        return asked or self.step in {ActionStep.NEXT, ActionStep.FINISH}


def read_inputs(environ: Mapping[str, str]) -> ActionInputs:
    """Return the inputs. Raises `UsageError` that names the input which cannot be followed."""
    given = {
        variable.removeprefix("INPUT_"): value.strip()
        for variable, value in environ.items()
        if variable.startswith("INPUT_")
    }
    known = {name.upper(): name for name in NAMES}
    for name in sorted(given.keys() - known.keys() - OF_THE_RUNNER):
        raise UsageError(
            f"There is no input {quote(name.lower())}.{nearest(name.lower(), NAMES)}",
            hint=f"Inputs: {', '.join(NAMES)}.",
        )
    values = {name: given.get(variable, "") for variable, name in known.items()}
    sha, config = values["head-sha"], resolve_path("", values["config"] or GATE_CONFIG_PATH)
    if not config:
        raise UsageError(
            f"The input config is {quote(values['config'])}, which is no file in the repository.",
            hint=f"Paths count from the repository's root, such as {GATE_CONFIG_PATH}.",
        )
    if sha and not is_sha(sha):
        raise UsageError(
            f"The input head-sha is {quote(sha)}, which is no whole id of a commit.",
            hint="Copy it from the pull request's list of commits: 40 digits and letters a to f.",
        )
    step = _choice("step", values["step"], ActionStep.ALL)
    refuse_stray(step, {name for name, value in values.items() if value})
    return ActionInputs(
        token=values["token"],
        extends_token=values["extends-token"],
        config=config,
        pull_request=_number("pull-request", values["pull-request"], 2**31),
        head_sha=sha,
        agents=_names("agents", values["agents"]),
        evals=_names("evals", values["evals"]),
        comment=_choice("comment", values["comment"], CommentMode.ALWAYS),
        max_parallel=_number("max-parallel", values["max-parallel"], MOST_PARALLEL),
        max_minutes=_number("max-minutes", values["max-minutes"], MOST_MINUTES) or RUN_MINUTES,
        results=values["results"],
        step=step,
        shards=read_shards(values["shards"]),
        shard=read_shard(values["shard"]),
        round=_number("round", values["round"], MOST_ROUNDS) or 1,
        parts=values["parts"],
    )


_STAGES = {ActionStep.RUN, ActionStep.NEXT, ActionStep.FINISH}
_GO_WITH = {
    "shards": {ActionStep.PLAN, ActionStep.NEXT},
    "shard": {ActionStep.RUN},
    "round": {ActionStep.RUN},
    "parts": _STAGES,
}
"""The steps that read an input; any other would obey it by nothing."""


def refuse_stray(step: ActionStep, given: Collection[str], shown: str = "The input {}") -> None:
    """Raise `UsageError` where what is `given` does not go with the step, or lacks something;
    `shown` says how a person knows each by its name.
    """
    for name, steps in _GO_WITH.items():
        if name in given and step not in steps:
            raise UsageError(
                f"{shown.format(name)} is no matter of the step {step}.",
                hint=f"It goes with {' and '.join(one for one in ActionStep if one in steps)}.",
            )
    needs = step in {ActionStep.NEXT, ActionStep.FINISH} or "shard" in given
    if needs and "parts" not in given:
        raise UsageError(
            f"{shown.format('parts')} is missing.",
            hint="Name the folder into which the parts of the jobs before were downloaded.",
        )
    if "parts" in given and not needs:
        needed = shown.format("shard").replace("The", "the")
        raise UsageError(f"{shown.format('parts')} needs {needed}, such as 2-of-7.")


def read_shards(value: str, shown: str = "The input shards") -> int | None:
    """Read how many shards are asked for: 0 for `auto`, None for the empty word."""
    if value == "auto":
        return 0
    return _number("shards", value, MOST_SHARDS, shown)


def read_shard(value: str, shown: str = "The input shard") -> ShardName | None:
    """Read which shard a job is: `2-of-7` or `2/7`, None for the empty word."""
    found = shard_name(value)
    if value and found is None:
        raise UsageError(
            f"{shown} is {quote(value)}.",
            hint=f"It is one of so many, such as 2-of-7, of at most {MOST_SHARDS}.",
        )
    return found


C = TypeVar("C", bound=StrEnum)


def _choice(name: str, value: str, default: C) -> C:
    if not value:
        return default
    kind = type(default)
    try:
        return kind(value)
    except ValueError:
        raise UsageError(
            f"The input {name} is {quote(value)}.{nearest(value, kind)}",
            hint=f"It is one of {', '.join(kind)}.",
        ) from None


def _number(name: str, value: str, most: int, shown: str = "") -> int | None:
    if not value:
        return None
    number = int(value) if re.fullmatch(r"[0-9]{1,10}", value) else 0
    if not 1 <= number <= most:
        raise UsageError(
            f"{shown or f'The input {name}'} is {quote(value)}.",
            hint=f"It is a whole number from 1 to {most:,}.",
        )
    return number


def _names(name: str, value: str) -> tuple[str, ...]:
    names = sorted(set(re.split(r"[\s,]+", value)) - {""})
    for one in names:
        if not re.fullmatch(NAME_PATTERN, one):
            raise UsageError(
                f"The input {name} holds {quote(one)}, which is no name of a manifest.",
                hint="Write names as in metadata.name, separated by commas or spaces.",
            )
    return tuple(names)
