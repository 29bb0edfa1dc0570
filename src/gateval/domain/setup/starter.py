"""What `gateval init` offers a repository: which Agent gets its first Eval, and where."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from shlex import quote
from typing import NamedTuple

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.setup.asked_by_words import SOMEBODY
from gateval.domain.setup.invocation import Invocation
from gateval.domain.setup.program import FoundProgram
from gateval.domain.setup.program_install import PROJECT_FILES
from gateval.domain.setup.repository_files import worth_reading

FIRST_NAME = "assistant"
SCRIPTED_NAME = "first"
SCRIPTED_MODEL = f"{SCRIPTED_PROVIDER}/{SCRIPTED_NAME}"

_PROMPT_FILE = re.compile(r"(?i)(?:.*prompt.*|.*/prompts?/.*)\.(?:md|txt|prompt)")
_READ_BY_PEOPLE = re.compile(r"(?i)(?:.*/)?(?:readme|changelog|contributing)\b.*")
_SAYS_NOTHING = {
    "", "agent", "agents", "api", "app", "backend", "cli", "code", "crew", "default", "flow",
    "graph", "index", "lib", "main", "my-agent", "new", "project", "prompt", "prompts", "repo",
    "repository", "root-agent", "route", "run", "server", "src", "system", "system-prompt",
    "test-application", "workflow",
}  # fmt: skip


class StarterFile(NamedTuple):
    """A file to write: its path from the repository's root, its text, and what it is."""

    path: str
    text: str
    about: str


class Sketch(NamedTuple):
    """The Agent that gets its first Eval.

    `new` Agents get a manifest in `folder`: that of a `program`, or with `model` and `prompt`; an
    empty `prompt` means that one is written. `watch` are the files of a program that works in the
    repository's root. `others` are further Agents without an Eval.
    """

    name: str
    folder: str
    new: bool
    model: str = ""
    prompt: str = ""
    program: FoundProgram | None = None
    watch: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The models that its manifest names."""
        return self.program.models if self.program else (self.model,) if self.model else ()


def looks_like_a_prompt(path: str) -> bool:
    """Whether a file's name says that it holds a prompt. A guess, to be shown as one."""
    return (
        bool(_PROMPT_FILE.fullmatch(path))
        and not _READ_BY_PEOPLE.fullmatch(path)
        and path.isprintable()  # which also leaves out names that are not UTF-8
    )


def sketch(
    catalogue: Catalogue,
    paths: Collection[str],
    model: str,
    program: FoundProgram | None = None,
    repository: str = "",
) -> Sketch | None:
    """Return which Agent gets its first Eval; None when every Agent has one.

    `paths` are the tracked files; `model` is asked by a new Agent that is no `program`;
    `repository` is what the folder of all is called.
    """
    tested = {evaluation.target_agent for evaluation in catalogue.evals}
    untested = [agent for agent in catalogue.agents if agent.name not in tested]
    if program:
        taken = {agent.name for agent in catalogue.agents}
        folders = {path.split("/")[1] for path in paths if path.startswith("agents/")}
        name = free_name(
            _name_of_program(program, repository), taken | (folders if taken else set())
        )
        watch = () if program.root else _watched(paths, {program.path, *program.reads})
        waiting = tuple(sorted(agent.name for agent in untested))
        folder = f"agents/{name}"
        return Sketch(name, folder, new=True, program=program, watch=watch, others=waiting)
    if not catalogue.agents:
        return _new_agent(sorted(filter(looks_like_a_prompt, paths), key=_depth_first), model)
    if not untested:
        return None
    first, *others = sorted(untested, key=lambda agent: agent.name)
    return Sketch(first.name, first.folder, new=False, others=tuple(one.name for one in others))


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return `wanted`, or it with the first number that makes it new."""
    known = set(taken)
    numbered = (f"{wanted}-{number}" for number in range(2, len(known) + 3))
    return wanted if wanted not in known else next(one for one in numbered if one not in known)


def _new_agent(prompts: Sequence[str], model: str) -> Sketch:
    prompt = prompts[0] if prompts else ""
    name = _name_of(prompt)
    return Sketch(name, f"agents/{name}", new=True, model=model, prompt=prompt)


def _name_of_program(program: FoundProgram, repository: str) -> str:
    for part in (*program.names, repository):
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", part).lower()
        name = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:63].strip("-")
        if name not in _SAYS_NOTHING:
            return name
    return FIRST_NAME


_CONFIGURATION = re.compile(
    r"(?!(?:docker-)?compose\b|mkdocs\.|codecov\.|renovate\.|cloudbuild\.|azure(?:-pipelines)?\."
    r"|fly\.|netlify\.|render\.|railway\.)"
    r"[^./][^/]*\.(?:ya?ml|toml|ini|cfg)"
)
"""Files in the root that configure a program, and not what builds, checks or deploys it."""


def _watched(paths: Iterable[str], reads: Collection[str]) -> tuple[str, ...]:
    """Return patterns of what a program in the root is made of: code, prompts, project files and
    configuration beside it, which a library may look for by its name.

    And the files that it `reads` beside them.
    """
    wanted = set()
    known = {*PROJECT_FILES, *reads}
    for path in paths:
        beside = _CONFIGURATION.fullmatch(path)
        if worth_reading(path) or looks_like_a_prompt(path) or path in known or beside:
            top, _, below = path.partition("/")
            wanted.add(f"/{top}/**" if below else f"/{top}")
    return tuple(sorted(wanted))


def _name_of(prompt: str) -> str:
    """Return a name for the Agent with this prompt: of its file, else of the folder above."""
    *folders, file = prompt.split("/")
    for part in (file.rpartition(".")[0], *reversed(folders)):
        name = re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")
        name = name.removesuffix("-prompt").removeprefix("prompt-")[:63].strip("-")
        if name not in _SAYS_NOTHING:
            return name
    return FIRST_NAME


def _depth_first(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _said_of_request(asked: Invocation) -> Iterator[str]:
    """Yield what is not known of how it is asked, and what stands there by a guess."""
    if not asked.sure:
        where = f"as `{asked.field}` in a POST to {asked.route}" if asked.route else "on its input"
        where = "as an argument" if asked.words else where
        yield (f"How it takes a question is not clear from its text: it gets it {where}.")
    if filled := _filled_in(asked):
        yield (f"Its request needs more, which is filled in by type alone: {filled}.")
    if asked.variable:
        yield f"It takes its question from the variable {asked.variable}, which its command sets."
    if SOMEBODY in (asked.stdin or "").split("\n"):
        yield (
            f"It asks for something before the question: `{SOMEBODY}` stands there under stdin, "
            "write what you mean."
        )
    if asked.left:
        named = ", ".join(f"`{one}`" for one in asked.left)
        yield (f"Its request may have {named} too, left out here: add some if the answer is of it.")
    for name, value in asked.env:
        headers = ", ".join(one for one, text in asked.headers if text.endswith(value))
        yield (f"It wants a key in the header {headers}: the same stands there and in {name}.")
    if asked.pieces:
        yield (
            "It answers piece by piece, and what its pieces hold is not clear: plain text counts "
            "as a whole; of events and lines of JSON name the place under runtime.response."
        )
    elif asked.route and not (asked.answer or asked.preset or asked.stream):
        yield ("Where its response has the answer is not clear: all of it counts.")


def _said_of_needs(program: FoundProgram) -> Iterator[str]:
    """Yield what it is given, and what has to be there beside it."""
    if program.more and program.target:
        given = ", ".join(f"`{name}`" for name, _ in program.more)
        yield f"Its first fixture gives {given} too: see that they are what you mean."
    if program.begun:
        yield (
            f"Its module asks a question of its own while it is imported (`{program.begun}`), so "
            'each trial does: put that below `if __name__ == "__main__":`.'
        )
    for address in program.asks[:MOST_NAMED]:
        yield f"It asks a server at {address}: name what starts that under runtime.services."
    for absent, example in program.absent[:MOST_NAMED]:
        kept = f"of which the repository has an example alone: {example}"
        yield f"It reads {absent}, {kept if example else 'which the repository has not'}."
    for command in program.fills[:MOST_NAMED]:
        yield f"Its README begins with `{command}`, and no trial does: what that makes is lacking."
    if program.drops:
        yield (
            f"It does nothing with what `{program.drops}` gives: its answer goes into a file that "
            "the agent writes, and its output does not have it."
        )
    if program.logs_in:
        cloud, by = program.logs_in
        named = _LOGIN_VARIABLES.get(cloud, "variables")
        yield (
            f"It logs in to {cloud} by {by}, and a trial has no such login: {named} that "
            "policy.candidateEnv names, or a key in place of it, have to do."
        )
    if program.stores:
        yield f"It fills a store ({program.stores}): give trials one of their own."
    if program.wants:
        told = "; ".join(program.wants[:_MOST_WANTED])
        told += "; …" * (len(program.wants) > _MOST_WANTED)
        yield f"Its README wants before it: {told}{'' if told.endswith('…') else '.'}"


_MOST_WANTED = 4
_LOGIN_VARIABLES = {
    "AWS": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "Hugging Face": "HF_TOKEN",
    "UiPath": "UIPATH_URL and UIPATH_ACCESS_TOKEN",
    "Databricks": "DATABRICKS_HOST and DATABRICKS_TOKEN",
}


def _filled_in(asked: Invocation) -> str:
    """Return the keys of a request beside the question, and its headers, as words."""
    body = json.loads(asked.body or "{}")
    own = [key for key, value in body.items() if "{{" not in json.dumps(value)]
    own = [key for key in own if key not in asked.shown]
    held = [value for _, value in asked.env]
    headers = [name for name, text in asked.headers if not any(map(text.endswith, held))]
    return ", ".join(f"`{one}`" for one in [*own, *headers])


MOST_NAMED = 3
"""How many other programs are named."""


def said_of(
    program: FoundProgram, *, others: Sequence[FoundProgram] = (), first: bool = True
) -> tuple[str, ...]:
    """Return what was found, and everything that could not be known, as sentences.

    `others` are programs that may be agents too; `first` says that there is no Agent yet.
    """
    asked = program.invocation
    uses = f" uses {program.framework}, so it" if program.framework else ""
    begun = "No Agent here. " if first else ""
    if program.target and program.framework:
        uses = f" is an agent of {program.framework}, so it"
    said = [f"{begun}{program.told}{uses} is {'the first' if first else 'an'} Agent."]
    if not program.started:
        said.append("Nothing tells how it is started, so `command` is a guess: mend it first.")
    if asked.file:
        said.append(f"It takes a file, so a question is the path of one: {asked.file} at first.")
    said += _said_of_request(asked)
    said += _said_of_needs(program)
    if program.setup is None:
        said.append("There is no lock file, so nothing is installed: add runtime.setup if need be.")
    elif not program.setup.locked:
        said.append("There is no lock file: the newest versions that its project allows are taken.")
    if not program.models:
        said.append("It names no model known here, so it may ask any; name them in spec.models.")
    further = list(dict.fromkeys(one.told for one in others if one.told != program.told))
    if further:
        more = f" and {len(further) - MOST_NAMED} more" if len(further) > MOST_NAMED else ""
        said.append(f"Another may be one too: {', '.join(further[:MOST_NAMED])}{more}.")
        said.append(f"Each becomes an Agent by its name:  gateval init {quote(further[0])}")
    return tuple(said)
