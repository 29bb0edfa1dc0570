"""Coding agents that keep their definitions in git and run by their own command line: Claude Code,
Codex, GitHub Copilot, Gemini's and Cursor's. What each is told, its sub-agents, and how it starts.

Each line was tried with the real program. Sources:
https://code.claude.com/docs/en/sub-agents, /skills, /memory (imports by `@path`) and /llm-gateway;
https://developers.openai.com/codex/subagents, /guides/agents-md and /config-advanced;
https://docs.github.com/en/copilot/reference/custom-agents-configuration,
https://code.visualstudio.com/docs/agent-customization and
https://docs.github.com/copilot/how-tos/copilot-cli/customize-copilot/use-byok-models;
https://geminicli.com/docs/cli/gemini-md, /core/subagents (asked by `@name`) and
/get-started/authentication; https://cursor.com/docs/context/rules and /subagents.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import objects_of, string_of
from gateval.formats.definitions.base import (
    CommandLine,
    Definition,
    DefinitionSource,
    Files,
    markdown,
    models_of,
    tools_of,
    without,
    words,
)


class Where(Enum):
    """Where a file lies: by its name in the root and every folder above, or in the root alone; by
    its kind anywhere below the root, or as the definition of an agent that has the same root.
    """

    ABOVE = auto()
    ROOT = auto()
    BELOW = auto()
    BESIDE = auto()


class CodingAgent(NamedTuple):
    """A coding agent: the files that it is always `told`, in this order, and where it finds skills.

    `mark` is the folder of its definitions, which lies in the root that it works in. The root of a
    definition elsewhere is that file's folder or, with `whole`, the repository's. `refusal` says
    why a definition is not started that gives no line to start it.
    """

    mark: str
    told: tuple[tuple[Where, tuple[str, ...]], ...]
    skills: tuple[str, ...] = ()
    refusal: str = ""
    whole: bool = False

    def root(self, path: str) -> str:
        """Return the folder in which the agent works that a file defines."""
        before, found, _ = f"/{path}".partition(f"/{self.mark}/")
        if not found:
            return "" if self.whole else path.rpartition("/")[0]
        return before.strip("/")

    def shared(self, files: Files, root: str) -> tuple[str, ...]:
        """Return what it is told wherever it works in `root`, with what that leads to."""
        told = files.reached(one for where, names in self.told
                             for one in self._at(where, names, files, root))  # fmt: skip
        return (*told, *files.skills(root, *self.skills))

    def _at(self, where: Where, names: Sequence[str], files: Files, root: str) -> Iterator[str]:
        if where is Where.ABOVE:
            yield from files.above(root, *names)
        elif where is Where.ROOT:
            yield from (f"{root}/{one}".lstrip("/") for one in names)
        for path in (path for kind in names for path in files.others.get(kind, ())):
            below = where is Where.BELOW and (not root or path.startswith(f"{root}/"))
            if below or (where is Where.BESIDE and self.root(path) == root):
                yield path

    def definition(
        self, source: DefinitionSource, name: str, files: Iterable[str], **more: Any
    ) -> Definition:
        """Return what a file defines; `files` are what it depends on beside what is shared."""
        root = self.root(source.path)
        shared = self.shared(source.files, root)
        more = {"refusal": self.refusal, **more}
        return Definition(name, source.place, files=(*files, *shared), root=root, **more)


CLAUDE = CodingAgent(
    ".claude/agents",
    (
        (Where.ABOVE, ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md")),
        (Where.BELOW, ("claude-rules",)),
        (Where.ROOT, (".claude/settings.json", ".mcp.json")),
    ),
)
CODEX = CodingAgent(
    ".codex",
    (
        (Where.ABOVE, ("AGENTS.override.md", "AGENTS.md")),
        (Where.ROOT, (".codex/config.toml", ".codex/hooks.json")),
    ),
    skills=(".agents/skills",),
)
COPILOT = CodingAgent(
    ".github",
    (
        (Where.ROOT, (".github/copilot-instructions.md",)),
        (Where.BELOW, ("copilot-instructions",)),
        (Where.ABOVE, ("AGENTS.md", "CLAUDE.md", "GEMINI.md")),
    ),
    skills=(".github/skills", ".claude/skills", ".agents/skills"),
    refusal="Copilot's command line asks the model that it is told, and this file names none.",
    whole=True,
)
GEMINI = CodingAgent(
    ".gemini",
    (
        (Where.ABOVE, ("GEMINI.md", "AGENTS.md")),
        (Where.ROOT, (".gemini/settings.json",)),
        (Where.BESIDE, ("gemini-agents",)),
    ),
)
CURSOR = CodingAgent(
    ".cursor",
    (
        (Where.BELOW, ("cursor-rules", "cursor-rules-old")),
        (Where.ABOVE, ("AGENTS.md", "CLAUDE.md")),
    ),
    refusal="Cursor's command line takes no address for its models, so what it asks cannot be led "
    "through the gateway, and it is not started.",
)
"""Nobody would see what it asked, and with which key
(https://docs.litellm.ai/docs/tutorials/cursor_integration).
"""


def _name(keys: JsonObject, source: DefinitionSource) -> str:
    return string_of(keys, "name") or source.stem


def read_claude_agent(source: DefinitionSource) -> Iterator[Definition]:
    """Return a sub-agent. Its skills, and the sub-agents that it may start, belong to it."""
    keys, body = markdown(source)
    name, root, tools = _name(keys, source), CLAUDE.root(source.path), words(keys.get("tools"))
    skills = source.files.skills(root, ".claude/skills")
    if tools and "Skill" not in tools:  # without `tools`, it may use all that there is
        preloaded = words(keys.get("skills"))
        skills = [one for one in skills if one.rpartition("/")[2] in preloaded]
    told = [source.path, *_claude_team(source, root, tools), *(f"{one}/SKILL.md" for one in skills)]
    yield CLAUDE.definition(
        source,
        name,
        (*source.files.reached(told), *skills),
        models=models_of(string_of(keys, "model")),
        system=body.strip(),
        tools=tools_of(one.partition("(")[0] for one in tools),
        line=CommandLine("claude", ("--agent", name)),
        means=without(keys, "name"),
    )


def _claude_team(source: DefinitionSource, root: str, tools: tuple[str, ...]) -> list[str]:
    """Return the files of the sub-agents that one may start: those of `Agent(worker)`, or all of
    its folder where it may start any.
    """
    named: set[str] = set()
    for one in tools:
        called, within, rest = one.partition("(")
        if called.strip() in {"Agent", "Task"}:
            named |= set(words(rest.rstrip(")"))) if within else {""}
    every = not tools or "" in named
    return [
        path
        for path in source.files.others.get("claude-agents", ())
        if path != source.path
        and CLAUDE.root(path) == root
        and (every or path.rpartition("/")[2].removesuffix(".md") in named)
    ]


_SKILLS = {
    ".claude/skills": ("claude", "/{name} {{{{ prompt }}}}"),
    ".agents/skills": ("codex", "${name} {{{{ prompt }}}}"),
    ".github/skills": ("copilot", "Use the skill {name}. {{{{ prompt }}}}"),
}
"""Where a coding agent finds a skill by itself, and how it is asked for it."""


def read_skill(source: DefinitionSource) -> Iterator[Definition]:
    """Return a skill, with its whole folder: asked by its name in the agent that finds it there."""
    keys, body = markdown(source)
    folder = source.folder
    name = string_of(keys, "name") or folder.rpartition("/")[2] or "skill"
    mark = next((one for one in _SKILLS if f"/{one}/" in f"/{folder}/"), "")
    home = CLAUDE._replace(mark=mark)
    program, asked = _SKILLS.get(mark, ("", ""))
    yield home.definition(
        source,
        name,
        (folder or source.path, *source.files.reached([source.path])),
        system=body.strip(),
        tools=tools_of(one.partition("(")[0] for one in words(keys.get("allowed-tools"))),
        line=CommandLine(program, asked=asked.format(name=name)) if mark else None,
        refusal="No coding agent finds a skill in this folder by itself, so none is started.",
        means=without(keys, "name"),
    )


def _toml(source: DefinitionSource) -> JsonObject:
    """Return what a file of TOML holds. Raises `DefinitionUnreadable`."""
    try:
        found = tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise source.refused(f"This is no TOML: {str(error)[:200]}.") from None
    return {key: _plain(value) for key, value in found.items()}


def _plain(value: object) -> JsonValue:
    """Return a value of TOML as JSON has it: a date is its text."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | bool) else str(value)


def read_codex_agent(source: DefinitionSource) -> Iterator[Definition]:
    """Return an agent that Codex starts by its name."""
    keys = _toml(source)
    name, model = _name(keys, source), string_of(keys, "model")
    yield CODEX.definition(
        source,
        name,
        source.files.reached([source.path]),
        models=models_of(model),
        system=string_of(keys, "developer_instructions"),
        line=CommandLine("codex", asked=f"Have the agent `{name}` do this: {{{{ prompt }}}}"),
        model=model,
        means=without(keys, "name", "developer_instructions"),
    )


def read_codex(source: DefinitionSource) -> Iterator[Definition]:
    """Return Codex itself, as the configuration of a repository has it work."""
    keys, root = _toml(source), CODEX.root(source.path)
    kin = source.files.others.get("codex-agents", ())
    yield CODEX.definition(
        source,
        "codex",
        (source.path, *source.files.reached(one for one in kin if CODEX.root(one) == root)),
        models=models_of(string_of(keys, "model")),
        line=CommandLine("codex"),
        means=keys,
    )


def _copilot_file(
    source: DefinitionSource,
    keys: JsonObject,
    body: str,
    name: str,
    team: Iterable[str],
    **more: Any,
) -> Definition:
    """Return an agent or a prompt. Its model is known as `provider/model-id` and as Copilot's
    command line takes it: its id.

    What VS Code shows (`Claude Sonnet 4.5 (copilot)`) is the id with blanks and capitals.
    """
    first = next(iter(words(keys.get("model"))), "")
    model = re.sub(r"\s*\([^()]*\)$", "", first).strip().lower().replace(" ", "-")
    if model.startswith("claude-"):
        model = model.replace(".", "-")  # as its maker writes it
    return COPILOT.definition(
        source,
        name,
        source.files.reached([source.path, *team]),
        models=models_of(model),
        system=body.strip(),
        tools=tools_of(words(keys.get("tools"))),
        model=model,
        **more,
    )


def _called(path: str) -> str:
    """Return what Copilot calls an agent: its file's name without the endings."""
    return re.sub(r"(?:\.agent|\.chatmode)?\.md$", "", path.rpartition("/")[2])


def read_copilot_agent(source: DefinitionSource) -> Iterator[Definition]:
    """Return an agent, or a chat mode as agents were called before, with those it hands over to."""
    keys, body = markdown(source)
    name, others = _called(source.path), source.files.others.get("copilot-agents", ())
    handed = (string_of(one, "agent") for one in objects_of(keys, "handoffs"))
    wanted = {*words(keys.get("agents")), *handed}
    team = [one for one in others if _called(one) in wanted and one != source.path]
    line = CommandLine("copilot", ("--agent", name))
    yield _copilot_file(source, keys, body, name, team, line=line, means={**keys})


def read_copilot_prompt(source: DefinitionSource) -> Iterator[Definition]:
    """Return a prompt file: its text, and what is asked behind it."""
    keys, body = markdown(source)
    agent = string_of(keys, "agent") or string_of(keys, "mode")
    team = [one for one in source.files.others.get("copilot-agents", ()) if _called(one) == agent]
    arguments = ("--agent", agent) if team else ()
    line = CommandLine("copilot", arguments, asked="{{ agent.system }}\n\n{{ prompt }}")
    means = without(keys, "name")
    yield _copilot_file(source, keys, body, source.stem, team, line=line, means=means)


def read_copilot(source: DefinitionSource) -> Iterator[Definition]:
    """Return Copilot itself, as the instructions of a repository have it work."""
    system, line = source.text.strip(), CommandLine("copilot")
    yield COPILOT.definition(source, "copilot", (source.path,), system=system, line=line)


def read_gemini(source: DefinitionSource) -> Iterator[Definition]:
    """Return Gemini itself, as a repository has it work."""
    system, line = source.text.strip(), CommandLine("gemini")
    yield GEMINI.definition(source, "gemini", (source.path,), system=system, line=line)


def read_gemini_agent(source: DefinitionSource) -> Iterator[Definition]:
    """Return a sub-agent, which Gemini is told to ask."""
    keys, body = markdown(source)
    name = _name(keys, source)
    yield GEMINI.definition(
        source,
        name,
        source.files.reached([source.path]),
        models=models_of(string_of(keys, "model")),
        system=body.strip(),
        tools=tools_of(words(keys.get("tools"))),
        line=CommandLine("gemini", asked=f"@{name} {{{{ prompt }}}}"),
        means=without(keys, "name"),
    )


def read_cursor_rules(source: DefinitionSource) -> Iterator[Definition]:
    """Return Cursor itself in a folder with rules, which are no agents by themselves: together with
    `AGENTS.md` they are what it is told, so each of them gives the same.
    """
    _, body = markdown(source, lenient=True)
    found = CURSOR.definition(source, "cursor", ())
    yield found._replace(system=body.strip() if len(found.files) == 1 else "")


def read_cursor_agent(source: DefinitionSource) -> Iterator[Definition]:
    """Return a sub-agent."""
    keys, body = markdown(source)
    files = source.files.reached([source.path])
    more = {"system": body.strip(), "means": without(keys, "name")}
    yield CURSOR.definition(source, _name(keys, source), files, **more)


_MAP = (
    "Say in .github/gateval.yml on the target branch how it is started: `agents: [{match: …, "
    "runtime: {type: command, command: […]}}]`"
)
MAP_PROGRAM = f"{_MAP}."
MAP = (
    f"{_MAP}, or `models: [provider/model-id]` and `runtime: {{type: model}}` to ask a model with "
    "its prompt alone."
)
"""What to do where the gate does not know how to start a definition; one without a prompt can be
started by a program alone.
"""


def _shell(line: str, words: Sequence[str], asked: str) -> JsonObject:
    """Return a runtime whose line fills in what only the environment of a trial tells."""
    return {"type": "command", "command": ["/bin/sh", "-c", line, "sh", *words], "stdin": asked}


_CLAUDE_MODELS = (
    "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_FABLE_MODEL",
)  # fmt: skip


def _claude(model: str, words: Sequence[str], asked: str) -> JsonObject:
    """Claude Code takes its models from ANTHROPIC_BASE_URL, with the key beside it."""
    chosen = dict.fromkeys(_CLAUDE_MODELS, model) if model else {}
    return {
        "type": "command",
        "command": ["claude", "-p", *words],
        "stdin": asked,
        "env": {
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **chosen,
        },
    }


_CODEX_LINE = (
    'exec codex exec --skip-git-repo-check --color never -c "model_providers.gateval={name='
    '\\"gateval\\",base_url=\\"$OPENAI_BASE_URL\\",env_key=\\"OPENAI_API_KEY\\",wire_api='
    '\\"responses\\"}" -c model_provider=gateval "$@" -'
)


def _codex(model: str, words: Sequence[str], asked: str) -> JsonObject:
    """Codex takes an address from `model_providers` of its configuration alone."""
    return _shell(_CODEX_LINE, [*(["--model", model] if model else []), *words], asked)


_COPILOT_LINE = (
    'COPILOT_PROVIDER_BASE_URL="$OPENAI_BASE_URL" COPILOT_PROVIDER_API_KEY="$OPENAI_API_KEY" '
    'exec copilot --silent --no-color "$@"'
)


def _copilot(model: str, words: Sequence[str], asked: str) -> JsonObject:
    """Copilot's command line takes an address from COPILOT_PROVIDER_BASE_URL, and needs a model."""
    return {**_shell(_COPILOT_LINE, words, asked), "env": {"COPILOT_MODEL": model}}


_GEMINI_LINE = (
    'mkdir -p "$HOME/.gemini" && printf %s \'{"security":{"auth":{"selectedType":'
    '"gemini-api-key"}}}\' > "$HOME/.gemini/settings.json" && exec gemini --skip-trust "$@" -p ""'
)


def _gemini(model: str, words: Sequence[str], asked: str) -> JsonObject:
    """Gemini's command line takes its models from GOOGLE_GEMINI_BASE_URL, once its settings say
    that it asks with a key.
    """
    return _shell(_GEMINI_LINE, [*(["--model", model] if model else []), *words], asked)


class CodingProgram(NamedTuple):
    """A coding agent's program: how it is started with a model (empty: its own choice), further
    words and a text to read; the provider whose models it names without more; whether it needs one.
    """

    start: Callable[[str, Sequence[str], str], JsonObject]
    provider: str
    needs_model: bool = False


PROGRAMS: Mapping[str, CodingProgram] = {
    "claude": CodingProgram(_claude, "anthropic"),
    "codex": CodingProgram(_codex, "openai"),
    "copilot": CodingProgram(_copilot, "openai", needs_model=True),
    "gemini": CodingProgram(_gemini, "gemini"),
}
"""By its name."""


def started_by(program: str, model: str, words: Sequence[str], asked: str) -> JsonObject:
    """Return the runtime that starts a program with a model, as `provider/model-id` or as it names
    it itself; empty for its own choice.
    """
    known = PROGRAMS[program]
    return known.start(model.removeprefix(f"{known.provider}/"), words, asked)
