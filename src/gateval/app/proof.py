"""Tries a guess of `init` before anything is written: one question, asked where `run` would ask it.

All of it happens in a copy of the working tree, in a repository of its own. The set-up has the
network; the question comes after it, to a candidate that has the gateway alone.

What `init --self-test` does: renames a tool in a copy of the working tree, and shows the red.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from gateval.adapters.folders import write_new
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.git.run import Git
from gateval.adapters.machine import SystemClock
from gateval.adapters.results_folder import create_results_folder
from gateval.app.check import check_change
from gateval.app.readers import MEND, registries, rules_here, valid_snapshot
from gateval.candidates.isolation.isolation_level import (
    IsolationLevel,
    build_isolation,
    look_around,
)
from gateval.candidates.isolation.supervisor.kernel import PORTS_SINCE
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, EgressPolicy
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.setup.gate_job import RUN_MINUTES
from gateval.domain.setup.invocation import Invocation
from gateval.domain.setup.no_edits import COPY, REDIRECT
from gateval.domain.setup.openapi import SERVED_AT, asked_as_described
from gateval.domain.setup.program import FoundProgram
from gateval.domain.setup.repository_files import worth_reading
from gateval.domain.setup.variables import PRIVATE
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Outcome, Trial
from gateval.errors import EXIT_FAILED, EXIT_PASS, UsageError
from gateval.gateway.rehearsal import Rehearsal
from gateval.pipeline.plan import plan_named_evals
from gateval.render.starter import QUESTION, payload_of, program_manifest
from gateval.safe.sanitize import plain_line
from gateval.settings import LayerCacheSettings, Settings, read_settings

SECONDS = 60
"""How long an answer may take."""

_MINUTES = 20.0
_MOST_MIB = 32_768  # of which a set-up may take half: what is not kept cannot be made again offline
_FOLDER = "gateval-init"
_PLACEHOLDER = "placeholder"
_ASKS_FOR = re.compile(r"asks for ((?:`\w{1,80}`(?:, )?){1,20}), which the question does not give")
_AUTHOR = ("user.name=Gateval", "user.email=gateval@localhost")


@dataclass(frozen=True)
class Proof:
    """What came of a guess. `trial` is None where its set-up failed already; `asked` are the models
    that it called, `inputs` names beside `prompt` that it wants in the payload.
    """

    program: FoundProgram
    trial: Trial | None
    why: str = ""
    detail: tuple[str, ...] = ()
    agents: int = 0
    tools: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    live: bool = False

    @property
    def answered(self) -> bool:
        """Whether it gave an answer and called a model for it."""
        return not self.why


def holds_here(environ: Mapping[str, str]) -> bool:
    """Whether a candidate can be held to the gateway here."""
    level: IsolationLevel = build_isolation(look_around(), read_settings(environ).limits)
    return level.landlock >= PORTS_SINCE and level.filtered


@contextlib.contextmanager
def copied(repository: GitRepository) -> Iterator[tuple[GitRepository, Git]]:
    """Give a copy of the working tree, in a repository of its own that is gone afterwards."""
    with TemporaryDirectory(prefix=f"{_FOLDER}-") as folder:
        root = Path(folder) / "repository"
        repository.export(repository.worktree(), root)
        git = Git(root, os.environ, config=_AUTHOR)
        git.run("init", "--quiet", "--template=", "--initial-branch=main")
        git.run("add", "--all", "--force")  # what is tracked counts, whatever is ignored
        yield open_repository(root), git


def prove(
    repository: GitRepository,
    program: FoundProgram,
    watch: tuple[str, ...],
    environ: dict[str, str],
    *,
    live: bool,
) -> Proof:
    """Ask a program one question; `watch` are its files as its manifest would name them.

    What its reason for no answer says to set is set, and what it says that it wants in the payload
    is given to it, in further tries.
    """
    while True:
        proof = _proved(repository, program, watch, environ, live=live)
        mended = program._replace(
            writes=program.writes or COPY in proof.why,
            redirect=program.redirect or REDIRECT in proof.why,
        )
        if proof.answered or mended == program:
            return proof
        program = mended


def _proved(
    repository: GitRepository,
    program: FoundProgram,
    watch: tuple[str, ...],
    environ: dict[str, str],
    *,
    live: bool,
) -> Proof:
    held = holds_here(environ)
    with copied(repository) as (copy, _):
        (copy.root / GATE_CONFIG_PATH).unlink(missing_ok=True)  # it may narrow what is read
        settings = _settings(environ, copy.root.parent / "layers")
        literals = stand_ins(program)

        def write(name: str, one: FoundProgram) -> None:
            _write(copy.root, name, one._replace(models=()), watch, literals)

        write("program", program)
        if program.setup is not None and held:
            env = Invocation(env=program.invocation.env)  # a set-up is known by its environment
            plain = program._replace(target="", language="", command=("true",), invocation=env)
            write("set-up", plain)
            made = _trial(copy, "set-up", settings, environ, EgressPolicy.OPEN)
            if made.repeats:  # what `true` says is no answer; a set-up that failed is another thing
                return Proof(program, None, made.reason, made.detail)
        egress = EgressPolicy.GATEWAY if held else EgressPolicy.OPEN
        asking = _Asking(copy, settings, environ, egress, write, live=live)
        program, trial, rehearsal, inputs = asking.asked(program)
    why = _why(trial, rehearsal)
    asked = tuple(one for one in (trial.trace.models if trial.trace else ()) if "/" in one)
    return Proof(
        program,
        trial,
        why,
        trial.detail,
        len(rehearsal.agents),
        tuple(sorted(rehearsal.tools)),
        asked,
        inputs,
        live,
    )


_REFUSED_BODY = re.compile(r"^The server answered .?POST .{1,300} with status 4(?:0[045]|15|22)")
"""How a trial ends whose server takes another body, or elsewhere."""

_GAVE = re.compile(r"did not give `begun\.chat\.(\w+)` \(it gave ([^)]{1,600})\)")
"""How a trial ends where what begins it gives another key."""

_SAYS, _OTHERWISE = "what-it-says", "asked-otherwise"


@dataclass(frozen=True)
class _Asking:
    """Asks a program in the copy, in which `write` makes a manifest of it by a name."""

    copy: GitRepository
    settings: Settings
    environ: dict[str, str]
    egress: EgressPolicy
    write: Callable[[str, FoundProgram], None]
    live: bool

    def asked(
        self, program: FoundProgram
    ) -> tuple[FoundProgram, Trial, Rehearsal, tuple[str, ...]]:
        """Return the program as it was asked, what came of it, and what it wants beside `prompt`.

        It is asked again with what it says that it lacks, or as it says that it is to be asked.
        """
        inputs, agent = program.inputs, "program"
        for number in range(2):
            given = {key: json.loads(one) for key, one in payload_of(program, inputs).items()}
            _ask(self.copy.root, f"question-{number}", given, agent=agent)
            rehearsal = Rehearsal(scripted=not self.live)
            trial = self._trial(f"question-{number}", replace(self.settings, rehearsal=rehearsal))
            wanted = _ASKS_FOR.search(trial.reason)
            if number:
                break
            if wanted is not None:
                inputs = (*program.inputs, *re.findall(r"\w+", wanted[1]))
            elif gave := _GAVE.search(trial.reason):
                program, agent = with_key(program, gave[1], gave[2]), _OTHERWISE
                self.write(agent, program)
            elif _REFUSED_BODY.search(trial.reason) and (told := self._described(program)):
                program, agent = program._replace(invocation=told), _OTHERWISE
                self.write(agent, program)
            else:
                break
        return program, trial, rehearsal, inputs

    def _described(self, program: FoundProgram) -> Invocation | None:
        """Return how the server wants to be asked, by what it says of itself, unless it is cut."""
        _ask(self.copy.root, _SAYS, {"prompt": QUESTION}, agent=_SAYS)
        self.write(_SAYS, program._replace(invocation=Invocation(route=SERVED_AT)))
        try:
            said = self._trial(_SAYS, self.settings).output
            return asked_as_described(read_json(said or ""))
        except NotStrictJson:
            return None

    def _trial(self, name: str, settings: Settings) -> Trial:
        return _trial(self.copy, name, settings, self.environ, self.egress)


def with_key(program: FoundProgram, wrong: str, given: str) -> FoundProgram:
    """Return the program with the key of what is begun that is likeliest among those `given`."""
    keys = re.findall(r"`(\w+)`", given)
    named = (
        one for end in ("id", "uuid", "key", "number") for one in keys if one.lower().endswith(end)
    )
    right, asked = next(named, wrong), program.invocation
    old, new = f"begun.chat.{wrong} ", f"begun.chat.{right} "
    changed = asked._replace(route=asked.route.replace(old, new), body=asked.body.replace(old, new))
    return program._replace(invocation=changed)


def stand_ins(program: FoundProgram) -> dict[str, str]:
    """Return what variables of a program hold while it is tried that nobody hands on: in a secret
    or an address anything will do, best what its repository gives as an example.
    """
    known = {name: _placeholder(name) for name in program.variables if PRIVATE.search(name)}
    return known | dict(program.addresses)


def _placeholder(name: str) -> str:
    """Return what a variable holds that nobody hands on: clients often look at its form."""
    if not name.endswith(("_URL", "_URI")):
        return _PLACEHOLDER
    is_database = re.search(r"DATABASE|POSTGRES|PG|DB_", name)
    scheme = "postgresql" if is_database else "http"
    return f"{scheme}://{_PLACEHOLDER}.localhost/{_PLACEHOLDER}"


def _settings(environ: dict[str, str], folder: Path) -> Settings:
    """Return the settings of a run that keeps set-ups, so that they are made before it is asked."""
    settings = read_settings(environ)
    if settings.layers.folder and settings.layers.writes:
        return settings
    key = SecretStr(secrets.token_hex(32))
    kept = LayerCacheSettings(folder=str(folder), mib=_MOST_MIB, key=key)
    return replace(settings, layers=kept)


def _write(
    root: Path, name: str, program: FoundProgram, watch: tuple[str, ...], env: Mapping[str, str]
) -> None:
    text = program_manifest(f"{_FOLDER}-{name}", program, watch, "", env)
    write_new(root, f"{_FOLDER}/{name}/agent.yaml", text)
    if name == "set-up":
        _ask(root, name, {"prompt": QUESTION}, agent=name)


def _ask(root: Path, name: str, payload: Mapping[str, str], agent: str = "program") -> None:
    fixture = {
        "apiVersion": "gateval/v1",
        "kind": "EvalFixture",
        "metadata": {"name": f"{_FOLDER}-{name}"},
        "spec": {
            "input": {"type": "prompt", "payload": payload},
            "assertions": [{"type": "latency"}],
        },
    }
    evaluation = {
        "apiVersion": "gateval/v1",
        "kind": "Eval",
        "metadata": {"name": f"{_FOLDER}-{name}"},
        "spec": {
            "targetAgent": f"{_FOLDER}-{agent}",
            "fixtures": [f"{_FOLDER}-{name}"],
            "execution": {"timeoutSeconds": SECONDS},
        },
    }
    text = "\n---\n".join(json.dumps(one) for one in (fixture, evaluation))
    write_new(root, f"{_FOLDER}/{name}.yaml", f"{text}\n")


def _trial(
    copy: GitRepository,
    name: str,
    settings: Settings,
    environ: dict[str, str],
    egress: EgressPolicy,
) -> Trial:
    from gateval.app.run.evaluate import evaluate  # its imports take a while

    named = [f"{_FOLDER}-{name}"]
    plan = plan_named_evals(
        copy, registries(), copy.worktree(), rules_here(environ), evals=named, fixtures=()
    )
    policy = plan.policy.replace(candidate_env=(), egress=egress)
    plan = plan.replace(policy=policy)
    folder = create_results_folder(copy.root, SystemClock(), chosen=copy.root.parent / name)
    done = evaluate(plan, copy, settings, folder, lambda _: None, minutes=_MINUTES)
    if done.info.interrupted or not done.trials:
        raise KeyboardInterrupt
    trial, trace = done.trials[0], done.trials[0].trace
    steps = tuple(trace.steps) if trace else ()  # they are read now: the folder is gone afterwards
    return trial.replace(trace=trace.replace(steps=steps)) if trace else trial


def _why(trial: Trial, rehearsal: Rehearsal) -> str:
    """Return why a trial is no answer of an agent; empty if it is one."""
    if trial.outcome is not Outcome.PASS:
        return trial.reason or "It gave no answer."
    if not rehearsal.calls:
        return "It answered, and called no model."
    return ""


def run_self_test(environ: dict[str, str]) -> int:
    """Check a change that has to be found; return 0 where the gate is red, and 1 where it is green.

    The person's tree, index and refs stay as they are. Raises `UsageError` where no fixture says
    which tool has to be called, or no file of an agent names it.
    """
    repository = open_repository()
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    tools = list(dict.fromkeys(_tools(snapshot)))
    if not tools:
        raise UsageError(
            "No fixture says which tool has to be called, so nothing would see that one is gone.",
            hint="Add `- {type: toolCalled, tool: NAME}` to a fixture, and try again.",
        )
    with copied(repository) as (copy, git):
        git.run("commit", "--quiet", "--message", "As it is")
        tool = next((one for one in tools if _rename(copy.root, snapshot, one)), "")
        if not tool:
            raise UsageError(
                f"No file of an agent names the tool {plain_line(tools[0], 100)}.",
                hint="Correct the fixture: a tool is called as the model calls it.",
            )
        named = plain_line(tool, 100)
        print(f"In a copy of the working tree, {named} is called {named}_renamed now.", flush=True)
        # What it says beside the summary leads to a folder that is gone when somebody reads it.
        said = io.StringIO()
        with (
            contextlib.chdir(copy.root),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(said),
        ):
            code = check_change(
                environ,
                base="main",
                head=None,
                agents=(),
                evals=(),
                fixtures=(),
                failed=False,
                fresh=True,
                results=copy.root.parent / "results",
                accept_bar_change=False,
                minutes=RUN_MINUTES,
            )
        print(_without_commands(said.getvalue()), end="", flush=True)
    if code == EXIT_FAILED:
        print("The gate is red, as it should be. Your files are as they were.")
        return EXIT_PASS
    if code == EXIT_PASS:
        print(
            f"The gate is green, though {named} is gone: no fixture that passes as it is rests on "
            "its call."
        )
        return EXIT_FAILED
    return code


def _without_commands(summary: str) -> str:
    """Return a summary without commands that name commits of the copy, which nobody has later."""
    lines = summary.splitlines(keepends=True)
    kept = (one for one in lines if not one.strip().startswith(("gateval ", "To do the same")))
    return "".join(kept)


def _tools(snapshot: Snapshot) -> Iterator[str]:
    """Yield the tools that fixtures want to be called."""
    for fixture in snapshot.catalogue.fixtures:
        for one in fixture.assertions:
            if one.type in {"toolCalled", "toolArguments"}:
                yield str(one.options.get("tool", ""))
            tools = one.options.get("tools")
            if one.type == "toolSequence" and isinstance(tools, list):
                yield from map(str, tools)


def _rename(root: Path, snapshot: Snapshot, tool: str) -> bool:
    """Rename a tool in programs, and where manifests define it; say whether it was anywhere."""
    manifests = {agent.path for agent in snapshot.catalogue.agents}
    word = re.compile(rf"(?<![\w-]){re.escape(tool)}(?![\w-])")
    defined = re.compile(rf"(\bname[\"']?\s*:\s*[\"']?){re.escape(tool)}(?![\w-])")
    found = False
    for path, entry in snapshot.tree.items():
        pattern = defined if path in manifests else word if worth_reading(path) else None
        if pattern is None or not entry.is_file or (root / path).is_symlink():
            continue
        text = (root / path).read_bytes().decode("utf-8", "surrogateescape")
        given = rf"\g<1>{tool}_renamed" if pattern is defined else f"{tool}_renamed"
        new = pattern.sub(given, text)
        if new != text:
            (root / path).write_bytes(new.encode("utf-8", "surrogateescape"))
            found = True
    return found
