"""The files that `gateval init` writes, filled in, and what it says to do next."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import SCRIPTED_FOLDER
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.setup.beside import Beside
from gateval.domain.setup.invocation import MESSAGES, PROMPT, Begin, Invocation
from gateval.domain.setup.program import FoundProgram, SetUp
from gateval.domain.setup.starter import (
    SCRIPTED_MODEL,
    SCRIPTED_NAME,
    Sketch,
    StarterFile,
    free_name,
)
from gateval.domain.setup.unmeasured import SEALS
from gateval.safe.sanitize import plain_line

_PLAIN = re.compile(r"(?:[A-Za-z/]|\.(?!\d))[\w./@:+-]*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"}


QUESTION = "What can you help me with?"
"""The first question."""


def program_manifest(
    name: str,
    program: FoundProgram,
    watch: tuple[str, ...],
    schema_url: str,
    env: Mapping[str, str] = {},
) -> str:
    """Return the manifest of an Agent that is this program, with these variables for it.

    `watch` is empty for its own folder.
    """
    return "\n".join(_lines(name, program, watch, schema_url, env)) + "\n"


def _lines(
    name: str,
    program: FoundProgram,
    watch: tuple[str, ...],
    schema_url: str,
    env: Mapping[str, str],
) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={schema_url}"
    path = "".join(letter for letter in program.path if letter.isprintable())[:200]
    yield f"# {path} ({program.framework}), as `gateval init` read it."
    yield from (
        "apiVersion: gateval/v1",
        "kind: Agent",
        "metadata:",
        f"  name: {word(name)}",
        "spec:",
    )
    if program.models:
        first, *others = program.models
        yield f"  models: {_list([first])} # what it asks; a further one here stands in for it"
        if others:
            yield f"  uses: {_list(others)} # asked beside it; others are refused"
    if watch:
        yield "  # The agent's files: it gets no others, and a change of one runs its Evals."
        yield f"  watch: {_list(watch)}"
    if program.include:
        yield f"  include: {_list(program.include)} # imported from outside its folder"
    yield "  runtime:"
    yield f"    type: {program.runtime}"
    yield f"    cwd: {word('/' + program.root)}"
    if program.target:
        yield f"    target: {word(program.target)}"
    if program.setup:
        yield from _setup(program.setup)
    yield from _as_it_is(program)
    if program.modules_in:
        env = {"PYTHONPATH": program.modules_in, **env}
    yield from _beside(program.beside)
    env = {**dict(program.examples), **env, **dict(program.invocation.env)}
    env = {**env, **(dict(program.beside.env) if program.beside.needed else {})}
    if env:
        why = [*["its modules lie there"] * bool(program.modules_in)]
        why += ["values of its example file"] * bool(program.examples)
        yield f"    env: {_mapping(env)}" + f" # {'; '.join(why)}" * bool(why)
    if not program.target:
        yield f"    command: {_list(program.command)}"
        yield from _asked(program.invocation, proved=program.proved)


def _as_it_is(program: FoundProgram) -> Iterator[str]:
    if program.writes:
        yield "    workdir: copy # it writes beside its code: each trial has a copy of its files"
    if program.redirect:
        yield "    redirect: true # it calls a provider's own address, which leads to the gateway"


def _setup(setup: SetUp) -> Iterator[str]:
    yield "    setup: # made once for all Agents and revisions with the same inputs"
    yield f"      run: {_list(setup.run)}"
    yield f"      inputs: {_list(setup.inputs)}"
    yield f"      creates: {_list(setup.creates)}"


def _beside(beside: Beside) -> Iterator[str]:
    """Yield the servers beside the agent, and what fills them before each trial.

    They are to be filled in where no compose file has them: an agent may do without what some other
    file of its project reads the address of.
    """
    if not beside.servers:
        return
    mark, ends = (
        ("", ": its compose file has it") if beside.needed else ("# ", ", if need be: without #")
    )
    yield f"    # A server of each run's own{ends}"
    yield f"    {mark}services:"
    for one in beside.servers:
        ready = "ready: {timeoutSeconds: 60}"
        yield f"    {mark}  - {{name: {one.name}, command: {_list(one.command)}, {ready}}}"
    if beside.before:
        yield f"    {mark}before: {_list(beside.before)}"
    if not beside.needed:
        yield f"    # env: {_mapping(dict(beside.env))}"


def _mapping(values: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}: {word(value)}' for key, value in values.items())}}}"


def _asked(asked: Invocation, *, proved: bool) -> Iterator[str]:
    doubt = "" if asked.sure or proved else " # a guess: the program's text does not tell"
    if asked.preset:
        path = "" if asked.preset == "a2a" else f", path: {word(asked.route)}"  # its card says it
        yield f"    request: {{preset: {asked.preset}{path}}}"
    elif asked.route:
        doubt = "" if proved else doubt or " # a guess, until the server was asked once"
        value = "{{ messages }}" if asked.field == MESSAGES else PROMPT
        body = asked.body or f"{{{word(asked.field)}: {json.dumps(value)}}}"
        headers = f", headers: {_mapping(dict(asked.headers))}" if asked.headers else ""
        by_get = asked.method or not asked.field
        kind = "form" if asked.form else "body"
        how = f"method: {asked.method or 'GET'}" if by_get else f"{kind}: {body}"
        begin = f"begin: {{chat: {_begin(asked.begin)}}}, " if asked.begin else ""
        yield f"    request: {{{begin}path: {word(asked.route)}, {how}{headers}}}{doubt}"
        stream = [f"stream: {asked.stream}"] if asked.stream else []
        found = f"$.{asked.answer}".removesuffix(".")  # the whole of each event, if need be
        output = asked.answer or asked.stream in {"sse", "ndjson"}
        if stream or output:
            shown = [*stream, *([f"output: {word(found)}"] if output else [])]
            yield f"    response: {{{', '.join(shown)}}}"
    elif asked.stdin is not None and not (asked.words and not asked.stdin):
        yield f"    stdin: {json.dumps(asked.stdin)}{doubt}"


def _begin(begin: Begin) -> str:
    headers = f", headers: {_mapping(dict(begin.headers))}" if begin.headers else ""
    return f"{{path: {word(begin.route)}, body: {begin.body}{headers}}}"


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(map(word, words))}]"


def word(text: str) -> str:
    """Return text as a YAML scalar in a flow list, in quotes if need be."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not text.endswith(":")
    return text if plain and ": " not in text else json.dumps(text, ensure_ascii=False)


ENVIRONMENT = "evals"
"""The environment that has the key of what is sealed."""

LAYERS_KEY = "GATEVAL_LAYERS_KEY"
"""The secret that signs what set-ups made."""

WORKFLOW_PATH = ".github/workflows/gateval.yml"

_SCHEMAS = "https://raw.githubusercontent.com/gateval/gateval"
_PLAIN_NAME = re.compile(r"[a-z/][\w./-]*")
_NAME_WORDS = {"null", "true", "false"}


def agent_files(sketch: Sketch, version: str) -> tuple[StarterFile, ...]:
    """Return the manifest of a new Agent and what it refers to; nothing for one that is there.

    Editors check it by the schema of this `version` of Gateval.
    """
    if not sketch.new:
        return ()
    if sketch.program:
        url = f"{_SCHEMAS}/v{version}/docs/reference/schema/Agent.schema.json"
        text = program_manifest(sketch.name, sketch.program, sketch.watch, url)
        return (StarterFile(f"{sketch.folder}/agent.yaml", text, "the Agent"),)
    prompt = "prompt.md" if not sketch.prompt else f"/{sketch.prompt}"
    values = {"NAME": scalar(sketch.name), "MODEL": scalar(sketch.model), "PROMPT": scalar(prompt)}
    manifest = StarterFile(f"{sketch.folder}/agent.yaml", fill("agent.yaml", values), "the Agent")
    written = [manifest]
    if not sketch.prompt:
        path = f"{sketch.folder}/prompt.md"
        written.append(StarterFile(path, fill("prompt.md", {}), "its system prompt"))
    if sketch.model == SCRIPTED_MODEL:
        path = f"{SCRIPTED_FOLDER}/{SCRIPTED_NAME}.yaml"
        written.append(StarterFile(path, fill("scripted.yaml", {}), "a model without a key"))
    return tuple(written)


def eval_name(sketch: Sketch, taken: Iterable[str]) -> str:
    """Return the name of the first Eval of the Agent."""
    return free_name(f"{sketch.name}-eval", taken)


_TO_FILL_IN = (
    "# - {type: contains, value: what a right answer has to say}",
    "# - {type: toolCalled, tool: a tool that it has to call}",
)
ANSWERED = (
    "- {type: latency, maxSeconds: 300} # there is an answer; say what it has to hold:",
    *_TO_FILL_IN,
)


def what_held(
    tools: Sequence[str], called: Sequence[str], said: str, *, live: bool
) -> tuple[str, ...]:
    """Return the assertions of a first fixture, from a trial of the question.

    `tools` are those that the model was offered, `called` those that it called, in their order,
    `said` is a word of its answer. A scripted model's choices hold for nobody.
    """
    model = "- {type: cost, maxTokens: 1000000} # it called a model, and keeps to this"
    if not live:
        offered = f"# It has the tools {', '.join(tools)}." if tools else "# It has no tools."
        return (
            "- {type: latency, maxSeconds: 300} # it answered",
            model,
            plain_line(offered, 300),
            *_TO_FILL_IN,
        )
    once = tuple(dict.fromkeys(called))
    lines = [f"- {{type: toolCalled, tool: {word(one)}}}" for one in once]
    if len(once) > 1:
        lines.append(f"- {{type: toolSequence, tools: {_list(once)}}}")
    if said:
        lines.append(f"- {{type: contains, value: {word(said)}, ignoreCase: true}}")
    return (*(lines or ["- {type: latency, maxSeconds: 300} # it answered"]), model)


def first_question(program: FoundProgram | None) -> str:
    """Return what a program is asked at first: the path of a file, if it takes one."""
    return (program.invocation.file if program else "") or QUESTION


def payload_of(program: FoundProgram | None, inputs: Iterable[str]) -> dict[str, str]:
    """Return the payload of the first question, each value as JSON; `inputs` are the names in it
    beside `prompt` that take the question. It is `text` where `prompt` holds a message.
    """
    question = json.dumps(first_question(program), ensure_ascii=False)
    more = dict(program.more if program else ())
    more = {name: value.replace(json.dumps(PROMPT), question) for name, value in more.items()}
    own = "text" if "prompt" in more else "prompt"
    return {**more, **dict.fromkeys((own, *inputs), question)}


def eval_file(
    sketch: Sketch,
    *,
    evals: Iterable[str],
    fixtures: Iterable[str],
    paths: Sequence[str],
    holds: Sequence[str] = ANSWERED,
    inputs: Sequence[str] = (),
) -> StarterFile:
    """Return the first fixture and Eval of the Agent, in a file of their own next to it.

    The names and paths that are taken are given, so that nothing is written twice. `holds` are the
    lines of its assertions, `inputs` names in the payload beside `prompt`.
    """
    folder = f"{sketch.folder}/" if sketch.folder else ""
    stem = free_name(f"{folder}evals", (path.removesuffix(".yaml") for path in paths))
    values = {
        "NAME": scalar(sketch.name),
        "FIXTURE": scalar(free_name(f"{sketch.name}-says-what-it-is-for", fixtures)),
        "EVAL": scalar(eval_name(sketch, evals)),
        "PAYLOAD": ", ".join(
            f"{word(key)}: {value}" for key, value in payload_of(sketch.program, inputs).items()
        ),
        "ASSERTIONS": "\n".join(f"    {line}" for line in holds),
    }
    return StarterFile(f"{stem}.yaml", fill("evals.yaml", values), "its first fixture and Eval")


def gate_files(
    key_variables: Iterable[str],
    address_variables: Iterable[str],
    version: str,
    *,
    sealed: bool,
    variables: Sequence[str] = (),
    keyless: Sequence[str] = (),
) -> tuple[StarterFile, ...]:
    """Return gate config and workflow, with keys from secrets and addresses from variables.

    What is `sealed` needs its own, from an environment. The `variables` that an agent reads are
    proposed, and to keep agents from the servers of `keyless` providers.
    """
    about = "# variables of the gate's that agents get: this one reads them"
    proposed = f"  # candidateEnv: {_list(variables)} {about}\n" if variables else ""
    if keyless:
        servers = (
            f"# keeps agents from a server of {' or '.join(keyless)} that asks for no key: they"
        )
        proposed += f"  # egress: gateway {servers} could change the judge\n"
    flow = workflow(key_variables, address_variables, version, sealed=sealed)
    return (
        StarterFile(
            GATE_CONFIG_PATH, fill("gateval.yml", {"ENV": proposed}), "how the gate decides"
        ),
        StarterFile(WORKFLOW_PATH, flow, "runs it on pull requests"),
    )


def workflow(
    key_variables: Iterable[str],
    address_variables: Iterable[str],
    version: str,
    *,
    sealed: bool = False,
) -> str:
    """Return the workflow for this version of Gateval."""
    keys = [*([SEALS] if sealed else []), *key_variables]
    lines = [f"          {name}: ${{{{ secrets.{name} }}}}" for name in keys]
    lines += [f"          {name}: ${{{{ vars.{name} }}}}" for name in address_variables]
    kept = ["GATEVAL_LAYERS: .gateval/layers", f"{LAYERS_KEY}: ${{{{ secrets.{LAYERS_KEY} }}}}"]
    env = "\n".join(["        env:", *(f"          {line}" for line in kept), *lines, ""])
    guard = f"    environment: {ENVIRONMENT} # with required reviewers: it has the key of what is "
    where = f"{guard}sealed\n" if sealed else ""
    return fill("workflow.yml", {"VERSION": version, "ENV": env, "ENVIRONMENT": where})


def fill(name: str, values: dict[str, str]) -> str:
    """Return a starter template with `@KEY@` replaced; no value is looked at again."""
    text = files("gateval.render").joinpath("starter_files", name).read_text("utf-8")
    if not values:
        return text
    return re.sub(rf"@({'|'.join(values)})@", lambda found: values[found[1]], text)


def scalar(text: str) -> str:
    """Return text as a YAML scalar that is read back as this string, in quotes if need be."""
    if _PLAIN_NAME.fullmatch(text) and text.isascii() and text not in _NAME_WORDS:
        return text
    return json.dumps(text)


def last_lines(
    chosen: Sketch | None,
    catalogue: Catalogue,
    keys: Sequence[str],
    addresses: Sequence[str],
    *,
    born: bool,
    layers: bool,
    proved: bool,
    sealed: bool = False,
    imports: Sequence[str] = (),
) -> str:
    """Return what only a person can do for pull requests to be checked, and the one next command.

    `sealed` when something here is; `born` when the branch has a commit; `layers` when an Agent has
    a set-up that can be kept; `proved` when the agent answered, so that its fixture is made of
    that; `imports` are the commands that take over cases of other tools.
    """
    lines = [f"Take over the cases that are here already:  {line}" for line in imports]
    if chosen is not None and not proved:
        lines.append("Make the fixture a question that matters to you, and say what must hold.")
    lines += [f"Let the workflow have the key:  gh secret set {key}" for key in keys]
    lines += [
        f"Say where the model's server is:  export {name}=URL here, gh variable set {name} there"
        for name in addresses
    ]
    if sealed:
        lines.append(
            f"Make an environment {ENVIRONMENT} with required reviewers, which the workflow names, "
            f"and put the key there:  gh secret set {SEALS} --env {ENVIRONMENT} < key.txt"
        )
    if layers:
        lines.append(
            f"Let CI keep set-ups, signed:  openssl rand -hex 32 | gh secret set {LAYERS_KEY}"
        )
    if not born:
        lines.append("Commit this first: a change is compared with a commit, and there is none.")
    if chosen and chosen.others:
        more = ", ".join(chosen.others)
        lines.append(f"Without an Eval still: {more}. `gateval init` again takes the next.")
    doctor = "gateval doctor"
    if chosen is not None:
        name = eval_name(chosen, [one.name for one in catalogue.evals])
        then = "    (then `gateval doctor` says what is missing still)"
        doctor = f"gateval run {name}{then}"
    left = "".join(f"  {line}\n" for line in lines)
    return (
        f"\nBefore pull requests count:\n{left}\nNext:  {doctor}\n"
        if left
        else f"\nNext:  {doctor}\n"
    )
