"""Which variables of the environment an agent reads, and with which values it starts.

An example of an environment file says both. What is neither a secret nor an address goes into the
manifest as the example has it: nobody hands such variables on in CI.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from posixpath import dirname, join, normpath
from typing import NamedTuple

from gateval.domain.strict_json import value_at

ENV_EXAMPLES = (
    *(f".env.{kind}" for kind in ("example", "sample", "template", "dist")),
    *(f".env.local.{kind}" for kind in ("example", "sample", "template")),
    *(f"{start}env.{kind}" for start in (".", "") for kind in ("TEMPLATE", "EXAMPLE")),
    *("env.example", "env.sample", "env.template", "template.env", "example.env", "sample.env"),
    *("env_template.txt", "env_example.txt", ".env-example", ".env_example", ".example.env"),
    ".env.example.local",
)
"""Files that list what has to be set."""

_READ = re.compile(
    r"os\.environ\[\s*[\"'](?P<index>[A-Z][A-Z0-9_]+)[\"']\s*\](?!\s*=[^=])"
    r"|(?:os\.getenv|os\.environ\.get|(?<![a-zA-Z0-9])(?:get|read|require|must)_(?:\w+_)?env(?:_\w+)?"
    r"|\b(?:get|read|required?|must|need|ensure)\w*(?<=[a-z])Env\w*)"
    r"\(\s*[\"'`](?P<get>[A-Z][A-Z0-9_]+)[\"'`]\s*(?:,\s*(?:\"\"|''|None)\s*)?\)"
    r"|(?:(?<![\w\])])\[|,)\s*[\"'](?P<listed>[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN))[\"']\s*(?=[,\]])"
    r"|process\.env\.(?P<node>[A-Z][A-Z0-9_]+)\b(?!\s*(?:(?:\?\?|\|\|)(?!\s*(?:\"\"|''))|=[^=]))"
)
_LISTED = re.compile(r"^[ \t]*(?:export )?([A-Z][A-Z0-9_]+)[ \t]*=", re.M)
_GIVEN = re.compile(
    r"(?!\w*_KEY_?\d+$)(?!\w*(?<!_API)_KEY$|\w+_API_API_)(?:OPENAI|ANTHROPIC|GEMINI|OPENROUTER|AZURE_OPENAI)_"
    r"(?:(?!\w*(?:DEPLOYMENT|ASSISTANT|VECTOR|STORE|AGENT|PROMPT_ID|API_VERSION))\w*)|GOOGLE_(?:API_KEY|GEMINI_\w+|GENAI_\w+)"
    r"|(?:LANGSMITH|LANGCHAIN|LANGFUSE|OTEL|NEXT_PUBLIC|VERCEL|NODE|PYTHON|LOG|DEBUG)_?\w*"
    r"|GITHUB(?!\w*(?:TOKEN|PAT|SECRET|KEY)$)_?\w*"
    r"|PORT|HOST|HOME|PATH|USER|PWD|TMPDIR|CI|SHELL|ENV|LANG|TZ"
)
"""What the gate sets itself, what is only for tracing, and what is no matter of the agent's."""


WITHHELD = frozenset({"GITHUB_TOKEN", "GH_TOKEN"})
"""Variables that agents never get: in CI they hold the token of the job."""


def handed_on(names: Iterable[str]) -> list[str]:
    """Return the variables that an agent may get."""
    return [one for one in names if one not in WITHHELD]


def said_of_variables(names: Sequence[str], environ: Container[str], config: str) -> Iterator[str]:
    """Yield what a person has to know of the variables that an agent reads; `environ` has those
    that are set, and `config` is the path of the gate config.
    """
    if handed := handed_on(names):
        missing = ", ".join(one for one in handed if one not in environ)
        said = f" Not set here: {missing}." if missing else ""
        yield (
            f"It reads {', '.join(handed)}. Agents get those alone which "
            f"policy.candidateEnv names: {config} has a line for that.{said}"
        )
    if withheld := ", ".join(one for one in names if one in WITHHELD):
        yield (
            f"It reads {withheld}, which no agent gets, for in CI it is the job's own: let it read "
            "a variable of another name, and name that in policy.candidateEnv."
        )


def variables_of(text: str, *, example: bool = False) -> tuple[str, ...]:
    """Return the variables that a program reads without a default, or that an example lists."""
    if example:
        found = _LISTED.findall(text)
    else:
        found = [next(filter(None, one.groups())) for one in _READ.finditer(text)]
    return tuple(dict.fromkeys(name for name in found if not _GIVEN.fullmatch(name)))


_READ_BY = {
    "TAVILY_API_KEY": r"\bTavily\w*\(",
    "SERPER_API_KEY": r"\b(?:SerperDevTool|GoogleSerperAPIWrapper)\(",
    "EXA_API_KEY": r"\b(?:E[xX][aA]\w*Tools?|ExaSearchResults)\(",
    "FIRECRAWL_API_KEY": r"\bFirecrawl\w*\(",
    "GROQ_API_KEY": r"\b(?:Chat)?Groq\(|[\"']groq[/:]|[\"']@ai-sdk/groq[\"']",
    "MISTRAL_API_KEY": r"\bChatMistralAI\(|[\"']mistral:|[\"']@ai-sdk/mistral[\"']",
    "DEEPSEEK_API_KEY": r"\b(?:Chat)?DeepSeek\(|[\"']deepseek:|[\"']@ai-sdk/deepseek[\"']",
    "TOGETHER_API_KEY": r"\bChatTogether\(|[\"']together_ai/|[\"']@ai-sdk/togetherai[\"']",
    "COHERE_API_KEY": r"\bChatCohere\(|[\"']cohere:|[\"']@ai-sdk/cohere[\"']",
    "NEBIUS_API_KEY": r"\b(?:Chat)?Nebius\(|[\"']nebius/",
    "NVIDIA_API_KEY": r"\bChatNVIDIA\(",
    "XAI_API_KEY": r"\bChatXAI\(|[\"']xai:|[\"']@ai-sdk/xai[\"']",
    "PERPLEXITY_API_KEY": r"[\"']@ai-sdk/perplexity[\"']",
    "CEREBRAS_API_KEY": r"\b(?:Chat)?Cerebras\(|[\"']cerebras:|[\"']@ai-sdk/cerebras[\"']",
}
"""Keys that libraries read themselves, with what a program has of them."""


@lru_cache(maxsize=4_096)  # many agents of one file
def read_by_libraries(text: str) -> tuple[str, ...]:
    """Return the keys that libraries which a program calls read from its environment."""
    return tuple(name for name, by in _READ_BY.items() if re.search(by, text))


PRIVATE = re.compile(
    r"(?:KEYS?|TOKEN|SECRET|PASSWORD|PASS|CREDENTIALS?|PROJECT|_ID|_UR[LI]|CORPUS)$"
)
"""Names of variables that hold a secret, an address or somebody's own name: in them anything will
do, to see whether an agent can be asked.
"""

_TOLD = re.compile(
    r"(?:^[ \t>*+-]*(?:\d+\.[ \t]+)?(?:export[ \t]+|set[ \t]+|\$env:|[\"'])?|`|\bexport[ \t]+)"
    r"([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?=[ \t]*=|[`\"'])(?![^\n]{0,200}\b[Oo]ptional)",
    re.M,
)


@lru_cache(maxsize=256)  # many agents of one repository
def told_variables(readme: str) -> tuple[str, ...]:
    """Return the secrets, addresses and names of somebody's own that people are told to set."""
    names = (one for one in _TOLD.findall(readme) if PRIVATE.search(one))
    return tuple(dict.fromkeys(one for one in names if not _GIVEN.fullmatch(one)))


_VALUE = re.compile(
    r"^[ \t]*(?:export )?(?P<name>[A-Z][A-Z0-9_]+)[ \t]*=[ \t]*"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s#][^\n]*?)[ \t]*(?:[ \t]#[^\n]*)?\r?$",
    re.M,
)
_TO_FILL_IN = re.compile(
    r"(?i)\b(?:your|my)\b|your[_-]|[<>{}]|\.\.\.|xxx|change|replace|todo|placeholder|insert|enter|example"
    r"|\$|^[/~]|^[a-z]:\\|^(?:none|null|mock|fake|stub)$"
)
_SERVED_AT = re.compile(
    r"PORT$|HOST$|ORIGINS?$|ADDRESS$|EMAIL$|USER(?:NAME)?$|MOCK|FAKE|STUB|DRY_RUN|TEST|OFFLINE"
)
_HERE = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^/@]*@)?(?:localhost|127\.0\.0\.1)\b"
    r"|(?:localhost|127\.0\.0\.1):\d{2,5}(?:/|$)"
)
_MOST_CHARACTERS = 200


class Examples(NamedTuple):
    """Values by name that an example of an environment file gives: `plain` ones, and `addresses` of
    servers on the machine that it was written on.
    """

    plain: dict[str, str]
    addresses: dict[str, str]


def example_values(text: str) -> Examples:
    """Return what an example gives that is neither a gap to fill in, a secret nor a place."""
    found = Examples({}, {})
    for one in _VALUE.finditer(text):
        name, value = one["name"], one["value"].strip("\"'")
        usable = value.isprintable() and 0 < len(value) <= _MOST_CHARACTERS
        if not usable or _GIVEN.fullmatch(name) or _TO_FILL_IN.search(value):
            continue
        if _HERE.match(value):
            found.addresses[name] = value
        elif "://" not in value and not PRIVATE.search(name) and not _SERVED_AT.search(name):
            found.plain[name] = value
    return found


_EXAMPLE_OF = (".example", ".sample", ".template")


def environment_files(declaring: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the files that may list what each langgraph.json has set: the one that its `env`
    names, which is often in nobody's repository, and examples of it.
    """
    found = {}
    for path, text in declaring.items():
        env = _env_of(path, text)
        if isinstance(env, str):
            file = normpath(join(dirname(path), env))
            found[path] = (file, *(f"{file}{ending}" for ending in _EXAMPLE_OF))
    return found


def environment_of(path: str, text: str) -> tuple[str, ...]:
    """Return the variables that the `env` of a langgraph.json names itself."""
    env = _env_of(path, text)
    listed = "".join(f"{name}=\n" for name in env) if isinstance(env, dict) else ""
    return variables_of(listed, example=True)


def _env_of(path: str, text: str) -> object:
    """Return the `env` of a langgraph.json: the path of a file, or variables with their values."""
    try:
        whole = json.loads(text) if path.endswith(".json") else None
    except (ValueError, RecursionError):
        return None
    return value_at(whole, "env")
