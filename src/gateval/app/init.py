"""What `init` does: look at the repository, write what is missing, say what to do next."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateval import __version__
from gateval.adapters.folders import write_new
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.app.init_beside import MOST_BYTES, say_what_is_beside, text_here, with_servers
from gateval.app.needs import (
    address_variables,
    key_variables,
    keyless_providers,
    models_of,
    read_workflows,
    sealed_files,
)
from gateval.app.readers import MEND, registries, valid_snapshot
from gateval.candidates.processes import telling_lines
from gateval.domain.base import MODEL_NAME_PATTERN
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.paths import show_path
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import InvalidManifests
from gateval.domain.setup.declared import DECLARING
from gateval.domain.setup.gate_job import GateJob
from gateval.domain.setup.openapi import FILES, asked_as_described
from gateval.domain.setup.other_work import is_other_work
from gateval.domain.setup.program import FoundProgram, SetUp
from gateval.domain.setup.program_install import mended_set_up, with_bun, with_tools
from gateval.domain.setup.program_search import find_programs, not_read
from gateval.domain.setup.repository_files import ENDINGS, is_read
from gateval.domain.setup.starter import (
    SCRIPTED_MODEL,
    Sketch,
    StarterFile,
    looks_like_a_prompt,
    said_of,
    sketch,
)
from gateval.domain.setup.told_starts import is_readme
from gateval.domain.setup.variables import environment_files, handed_on, said_of_variables
from gateval.domain.trials.trace import StepKind
from gateval.domain.trials.trial import Cause, Trial
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.imports.registry import format_of_name
from gateval.formats.yaml_reader import read_documents
from gateval.gateway.upstream.endpoints import PROVIDERS
from gateval.pipeline.read import survey
from gateval.render.report.wording import count
from gateval.render.starter import (
    ANSWERED,
    QUESTION,
    WORKFLOW_PATH,
    agent_files,
    eval_file,
    gate_files,
    last_lines,
    what_held,
)
from gateval.safe.sanitize import plain_line

if TYPE_CHECKING:
    from gateval.app.proof import Proof


def imports_of(paths: Iterable[str]) -> list[str]:
    """Return a command for each format of another tool whose files are here, told by their names.

    Files that were taken over already, with their manifests beside them, are left out.
    """
    known = set(paths)
    found: dict[str, list[str]] = {}
    for path in sorted(known):
        name = format_of_name(path)
        if name and f"{path.rpartition('.')[0]}.gateval.yaml" not in known:
            found.setdefault(name, []).append(shlex.quote(show_path(path)))
    return [f"gateval import {name} {' '.join(files)}" for name, files in found.items()]


Choose = Callable[[Sequence[str]], int]
"""Asks a person which of several lines is right and returns its index."""

MOST_FILES = 2_000


def programs_of(
    repository: GitRepository, snapshot: Snapshot, wanted: str | None
) -> tuple[FoundProgram, ...]:
    """Return the programs that look like agents, the likeliest first, or the one that is `wanted`.

    Raises `UsageError` when that is no file of the repository or none that can be read here.
    """
    named = _named(repository.root, snapshot, wanted) if wanted is not None else ""
    found = _read(repository, snapshot, named, filter(is_read, snapshot.tree))
    if not all(one.refused for one in found):
        return found
    examples = [path for path in snapshot.tree if is_read(path, examples=True)]
    if all(map(is_read, examples)):  # no other file would be read
        return found
    others = _read(repository, snapshot, named, examples)
    return tuple(one for one in others if one.hinted or not found) or found


def _read(
    repository: GitRepository, snapshot: Snapshot, named: str, read: Iterable[str]
) -> tuple[FoundProgram, ...]:
    nearest = sorted(read, key=lambda path: (path.count("/"), path))
    path = named.partition(":")[0]
    paths = dict.fromkeys([*([path] if path else []), *nearest[:MOST_FILES]])
    texts = _texts(repository, snapshot, paths)
    declaring = {path: text for path, text in texts.items() if path.endswith(DECLARING)}
    listing = [one for files in environment_files(declaring).values() for one in files]
    texts |= _texts(repository, snapshot, (one for one in listing if one in snapshot.tree))
    return find_programs(texts, snapshot.tree, named)


def _texts(repository: GitRepository, snapshot: Snapshot, paths: Iterable[str]) -> dict[str, str]:
    """Return the text of each path that is a file; that of a larger one is empty."""
    entries = {path: snapshot.tree[path] for path in paths}
    oids = {path: entry.oid for path, entry in entries.items() if entry.is_file}
    blobs = repository.blobs(oids.values(), limit=MOST_BYTES)
    return {path: (blobs.get(oid) or b"").decode("utf-8", "replace") for path, oid in oids.items()}


def one_of(found: Sequence[FoundProgram], choose: Choose) -> FoundProgram:
    """Return the program to begin with; where several are as likely, a person says."""
    likeliest = [one for one in found if one.score == found[0].score]
    if len(likeliest) == 1:
        return found[0]
    return likeliest[choose([f"{one.told} ({one.framework})" for one in likeliest])]


def _named(root: Path, snapshot: Snapshot, wanted: str) -> str:
    """Return the path from the root of the file that a person named from where they are, with the
    object behind it if they named one.
    """
    named, colon, name = wanted.partition(":")
    whole = (Path.cwd() / named).resolve()
    path = whole.relative_to(root).as_posix() if whole.is_relative_to(root) else ""
    if path not in snapshot.tree or not snapshot.tree[path].is_file:
        raise UsageError(
            f'"{named}" is no file of this repository.',
            hint="Name the file that starts the agent, or FILE:OBJECT; what .gitignore leaves out "
            "does not count.",
        )
    if not path.endswith((*ENDINGS, *DECLARING)) or not path.isprintable():
        raise UsageError(
            f'How "{named}" is started cannot be told: this reads {", ".join(ENDINGS)}.',
            hint="Write the Agent by hand: docs/getting-started.md shows one.",
        )
    return f"{path}{colon}{name}"


FIRST_MODELS = {"anthropic": "anthropic/claude-haiku-4-5", "openai": "openai/gpt-5-mini"}
"""What a new Agent asks if the provider's key is set: small, quick and cheap."""


@dataclass(frozen=True)
class Wishes:
    """What the person said. They name the `program`, and a `model` where there is to be none.

    `run` says that the guess is tried, `live` that its own models answer. `choose` is asked where
    several may be the agent, `agree` before anything runs, `dare` where that would not be held back
    as it should, and `name` for the agent where no guess answers, "" for none; None where nobody is
    there.
    """

    choose: Choose
    agree: Callable[[str], bool]
    dare: Callable[[str], bool]
    program: str | None = None
    model: str | None = None
    run: bool = False
    live: bool = False
    name: Callable[[], str] | None = None


def start_repository(environ: dict[str, str], wishes: Wishes) -> int:
    """Write what is missing and print each file and the next steps.

    Raises `InvalidManifests` when there are manifests that cannot be read, and `UsageError` for a
    model or a program that cannot be one, or where no guess gives an answer.
    """
    repository = open_repository()
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    model = _model(wishes.model, environ)
    looked = wishes.model is None and (wishes.program or not snapshot.catalogue.agents)
    found = _found(repository, snapshot, wishes.program) if looked else ()
    proof = None
    if found and wishes.run:
        proof = Proving(repository, snapshot, environ, wishes).first(found)
    program = proof.program if proof else one_of(found, wishes.choose) if found else None
    program = program and with_servers(repository, program)
    chosen = _sketch(repository, snapshot, model, program)
    gates, _ = read_workflows(repository, snapshot)
    files = _files(chosen, snapshot, gates, proof)
    _say_what_was_found(snapshot, chosen, found)
    if program:
        _say_what_it_reads(program, environ)
        say_what_is_beside(program.beside)
    kept = {job.path: "the workflow" for job in gates}
    for file in files:
        if write_new(repository.root, file.path, file.text):
            print(f"  wrote  {plain_line(file.path, 200)}  ({file.about})")
        else:
            kept[file.path] = file.about
    for path, about in kept.items():
        print(f"  kept   {plain_line(path, 200)}  ({about}; it was here, and stays as it is)")
    written = _confirm(repository, chosen)
    models = _models(chosen, snapshot.catalogue)
    said = last_lines(
        chosen,
        snapshot.catalogue,
        key_variables(models),
        address_variables(models),
        born=repository.has_commit(),
        layers=any(one.spec.runtime and one.spec.runtime.layer for one in written.agents),
        proved=proof is not None,
        sealed=bool(sealed_files(snapshot)) and not gates,
        imports=imports_of(snapshot.tree),
    )
    print(said, end="")
    return EXIT_PASS


def _say_what_it_reads(program: FoundProgram, environ: Mapping[str, str]) -> None:
    if names := ", ".join(dict(program.examples)):
        print(f"Its manifest sets {names}, as the example in the repository does.")
    for line in said_of_variables(program.variables, environ, GATE_CONFIG_PATH):
        print(line)


def _sketch(
    repository: GitRepository, snapshot: Snapshot, model: str, program: FoundProgram | None
) -> Sketch | None:
    return sketch(snapshot.catalogue, snapshot.tree, model, program, repository.root.name)


MOST_TRIED = 3

_Failed = dict[tuple[str, SetUp], SetUp | None]
"""Set-ups that failed, by the folder of the program, each with the one that goes on, if known."""


def _mended(program: FoundProgram, failed: _Failed) -> FoundProgram:
    """Return the program with the set-up that goes on where its own failed before."""
    while program.setup and (mended := failed.get((program.root, program.setup))):
        program = program._replace(setup=mended)
    return program


@dataclass(frozen=True)
class Proving:
    """Tries guesses until one answers, with the person's consent."""

    repository: GitRepository
    snapshot: Snapshot
    environ: dict[str, str]
    wishes: Wishes

    def first(self, found: Sequence[FoundProgram]) -> Proof | None:
        """Return the proof of the first that answers; None where the person wants none.

        Raises `UsageError` where none answers.
        """
        begun = one_of(found, self.wishes.choose)
        others = [one for one in found if one.told != begun.told]
        agreed: set[tuple[str, ...]] = set()
        failed: _Failed = {}
        alike: list[str] = []
        tried = 0
        for guess in (begun, *others):
            program = _mended(guess, failed)
            if (program.root, program.setup) in failed:
                alike.append(program.told)
                continue
            while tried < MOST_TRIED:
                if not self._agreed(program, agreed):
                    return None
                if proof := self._tried(program, failed):
                    return proof
                if (again := _mended(program, failed)) == program:
                    tried += 1
                    break
                program = again
        if alike:
            print(plain_line(f"Not tried, for their set-up is the same: {', '.join(alike)}.", 400))
        if self.wishes.name is not None and (name := self.wishes.name()):
            program, *_ = _found(self.repository, self.snapshot, name)
            if self._agreed(program, agreed) and (proof := self._tried(program, failed)):
                return proof
        raise UsageError(
            "No guess gave an answer, so nothing was written.",
            hint="Name the agent with `gateval init FILE` or `gateval init FILE:OBJECT`; "
            "`gateval init --yes` writes the likeliest without trying it.",
        )

    def _agreed(self, program: FoundProgram, agreed: set[tuple[str, ...]]) -> bool:
        from gateval.app.proof import holds_here

        run = program.setup.run if program.setup else ()
        if run in agreed:
            return True
        model = "its own models, which cost money" if self.wishes.live else "a scripted model"
        installs = f"`{shlex.join(run)}` with the network, then " if run else ""
        asked = f"Try {program.told}: {installs}one question, answered by {model}"
        held = holds_here(self.environ)
        yes = self.wishes.agree(plain_line(asked, 400))
        yes = yes and (held or self.wishes.dare(UNHELD))
        agreed |= {run} if yes else set()
        return yes

    def _tried(self, program: FoundProgram, failed: _Failed) -> Proof | None:
        from gateval.app.proof import prove, stand_ins  # and with it all that a run needs

        chosen = _sketch(self.repository, self.snapshot, "", program)
        if chosen is None:
            return None
        missing = stand_ins(program)
        live, watch = self.wishes.live, chosen.watch
        proof = prove(self.repository, program, watch, self.environ, live=live)
        program = proof.program
        told = plain_line(program.told, 200)
        if proof.trial is not None and proof.answered:
            counts = ", ".join(
                count(number, what)
                for number, what in (
                    (proof.agents, "agent"),
                    (len(proof.tools), "tool"),
                    (len(proof.asked), "model"),
                )
            )
            print(f"{told} answers: {counts}; first answer in {proof.trial.seconds:.1f} s.")
            if missing:
                print(f"For that, {', '.join(missing)} held a placeholder, which is no key.")
            models = tuple(dict.fromkeys((*proof.asked, *program.models)))
            return replace(proof, program=proof.program._replace(models=models, proved=True))
        mended = None
        if proof.trial is None and program.setup:
            mended = mended_set_up(program.setup, proof.detail)
            failed[program.root, program.setup] = mended
        left = "" if mended else "gave no answer, so it is not written. "
        print(f"{told}{':' * (not left)} {left}{plain_line(proof.why, 600)}")
        lines = telling_lines(proof.detail[1:], MOST_LINES)
        lines = lines if proof.trial is None else proof.detail[1:][-MOST_LINES:]
        for line in (*proof.detail[:1], *lines):
            print(f"    {plain_line(line, 200)}")
        if self.wishes.live and proof.trial and _unasked(proof.trial):
            raise UsageError(
                "Its own model gave no answer, so nothing was written.",
                hint="Give the gate what it lacks (docs/reference/environment.md), or leave out "
                "--live: a scripted model answers.",
            )
        if mended:
            print(f"Its package manager goes on with `{plain_line(shlex.join(mended.run), 200)}`.")
            return None
        if unset := ", ".join(one for one in program.variables if one not in missing):
            said = f"It reads {unset}, and nothing sets it: `gateval init --yes` writes a manifest"
            print(f"    {plain_line(said, 400)} whose `runtime.env` can.")
        return None


_LACKS = re.compile(r"\S+/\S+ needs [A-Z_]+\b")


def _unasked(trial: Trial) -> bool:
    """Whether a model could not be asked, which no other guess would change."""
    return trial.cause is Cause.PROVIDER or bool(_LACKS.match(trial.reason))


MOST_LINES = 7
"""How many lines are shown of what a program printed that gave no answer."""

UNHELD = (
    "Nothing here holds it to the gate's gateway: it can reach the network and what your user can "
    "read. Go on"
)


def _with_tools(repository: GitRepository, program: FoundProgram) -> FoundProgram:
    """Return the program with a set-up for the package managers that are here."""
    if program.setup is None:
        return program
    folder = repository.root / program.root
    files = [folder / name for name in ("package.json", "pnpm-lock.yaml")]
    project = "\n".join(map(text_here, files))

    def has(name: str) -> bool:
        return shutil.which(name) is not None

    setup, command = with_bun(program.setup, program.command, has)
    return program._replace(setup=with_tools(setup, has, project), command=command)


def _found(
    repository: GitRepository, snapshot: Snapshot, wanted: str | None
) -> tuple[FoundProgram, ...]:
    """Return the programs that can be asked, and say which cannot.

    Raises `UsageError` where nothing else was named or found.
    """
    known = programs_of(repository, snapshot, wanted)
    prompts = any(map(looks_like_a_prompt, snapshot.tree))
    if prompts and all(is_other_work(one.refused) for one in known):
        return ()
    readmes = [one for one in snapshot.tree if "/" not in one and is_readme(one)]
    unread = not_read(snapshot.tree, "\n".join(_texts(repository, snapshot, readmes).values()))
    if not known and not prompts and unread:
        path, (why, hint) = unread
        raise UsageError(f"{plain_line(path, 200)} {why}", hint=hint)
    kept = (_as_described(repository, snapshot, one) for one in known if not one.refused)
    found = tuple(_with_tools(repository, one) for one in kept)
    asked = {one.path for one in found}  # of what is asked, no part that cannot be is told
    refused = {one.path: one.refused for one in known if one.refused and one.path not in asked}
    for path, (why, hint) in refused.items():
        said = f"{plain_line(path, 200)} {why}"
        if not found:
            raise UsageError(said, hint=hint)
        print(f"{said} {hint}")
    return found


def _as_described(
    repository: GitRepository, snapshot: Snapshot, program: FoundProgram
) -> FoundProgram:
    """Return a server, asked as an OpenAPI description beside it says, if there is one."""
    folders = dict.fromkeys(f"{one}/" if one else "" for one in (program.root, ""))
    paths = [f"{folder}{name}" for folder in folders for name in FILES]
    here = [path for path in paths if path in snapshot.tree and snapshot.tree[path].is_file]
    if not here or not program.invocation.route:
        return program
    oid = snapshot.tree[here[0]].oid
    data = repository.blobs([oid], limit=MOST_BYTES).get(oid) or b""
    documents, _ = read_documents(here[0], data)
    asked = asked_as_described(documents[0].data) if documents else None
    return program._replace(invocation=asked) if asked else program


def _confirm(repository: GitRepository, chosen: Sketch | None) -> Catalogue:
    """Read everything again: what was written has to be valid, and has to be looked at."""
    snapshot = survey(repository, registries(), repository.worktree())
    if chosen is not None and snapshot.catalogue.agent(chosen.name) is None:
        place = chosen.folder or "the repository's root"
        raise UsageError(
            f"The new files in {place} are not looked at.",
            hint=f"Add them to `manifests` in {GATE_CONFIG_PATH}, if it has that, and see that no "
            ".gitignore leaves them out.",
        )
    if snapshot.problems:
        raise InvalidManifests(
            snapshot.problems,
            hint="The files are written: mend them. Where candidates cannot get all files of the "
            "Agent's folder, name those that it needs under `watch` (docs/reference/manifests.md).",
        )
    return snapshot.catalogue


def _model(wanted: str | None, environ: Mapping[str, str]) -> str:
    if wanted is not None:
        provider = wanted.partition("/")[0]
        if not re.match(MODEL_NAME_PATTERN, wanted) or provider not in PROVIDERS:
            known = ", ".join(sorted(PROVIDERS))
            raise UsageError(
                f'"{wanted}" cannot be the model of an Agent.',
                hint=f"Write it as provider/model-id; providers are {known}.",
            )
        return wanted
    having = (name for name in FIRST_MODELS if environ.get(PROVIDERS[name].key_variable))
    return FIRST_MODELS.get(next(having, ""), SCRIPTED_MODEL)


def _files(
    chosen: Sketch | None,
    snapshot: Snapshot,
    gates: Sequence[GateJob],
    proof: Proof | None,
) -> tuple[StarterFile, ...]:
    catalogue = snapshot.catalogue
    files: tuple[StarterFile, ...] = ()
    if chosen is not None:
        first_eval = eval_file(
            chosen,
            evals=[one.name for one in catalogue.evals],
            fixtures=[one.name for one in catalogue.fixtures],
            paths=snapshot.paths,
            holds=_held(proof) if proof else ANSWERED,
            inputs=proof.inputs if proof else chosen.program.inputs if chosen.program else (),
        )
        files = (*agent_files(chosen, __version__), first_eval)
    models = _models(chosen, catalogue)
    gate = gate_files(
        key_variables(models),
        address_variables(models),
        __version__,
        sealed=bool(sealed_files(snapshot)),
        variables=handed_on(chosen.program.variables) if chosen and chosen.program else (),
        keyless=keyless_providers(models),
    )
    return (*files, *(one for one in gate if one.path != WORKFLOW_PATH or not gates))


def _held(proof: Proof) -> tuple[str, ...]:
    """Return the assertions of the first fixture, from what its agent did."""
    trial = proof.trial
    steps = trial.trace.steps if trial and trial.trace else ()
    called = [one.tool for one in steps if one.kind is StepKind.TOOL_CALL and one.tool]
    said = _told_word((trial.output or "") if trial else "")
    return what_held(proof.tools, called, said, live=proof.live)


_MARK = re.compile(r"\[[a-z ]{1,40} removed\]")
"""What stands where a secret stood, which no later answer says."""


def _told_word(answer: str) -> str:
    """Return the longest word of an answer that the question does not have, in any script."""
    words = re.findall(r"[^\W\d_]{2,30}", _MARK.sub(" ", answer))
    new = [one for one in words if one.casefold() not in QUESTION.casefold()]
    return max(new, key=len, default="")


def _models(chosen: Sketch | None, catalogue: Catalogue) -> set[str]:
    """Return the models of the repository, with those of the new Agent."""
    return {*models_of(catalogue), *(chosen.models if chosen else ())}


def _say_what_was_found(
    snapshot: Snapshot, chosen: Sketch | None, found: Sequence[FoundProgram]
) -> None:
    names = [agent.name for agent in snapshot.catalogue.agents]
    if names:
        print(f"Agents here: {', '.join(sorted(names))}.")
    if chosen and chosen.program:
        for line in said_of(chosen.program, others=found, first=not names):
            print(plain_line(line, 300))
    elif chosen is None:
        print("Each of them has an Eval, so there is no Agent to begin with.")
    elif chosen.prompt:
        said = f"{plain_line(chosen.prompt, 200)} looks like a system prompt, so the"
        print(f"No Agent here. {said}\nfirst Agent uses it; change that if it is not one.")
    elif chosen.new:
        print("No Agent here, and no file that looks like a system prompt: this is a small one.")
    if chosen and chosen.new and not chosen.program:
        print("It runs no program of yours. If one is the agent:  gateval init PATH/TO/PROGRAM")
