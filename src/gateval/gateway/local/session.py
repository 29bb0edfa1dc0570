"""One instance's access to models and tools: throw-away keys, and what a request asks for.

The gateway has an address for each family of clients. Below an address stand the endpoints of all
formats, with `/v1` before them or without: some clients add it to the base URL, others expect it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from aiohttp import web

from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.trials.model_call import Caller, CallsMade, ToolDefinition
from gateval.domain.trials.trace import Replay, Trace
from gateval.domain.trials.trial import Side
from gateval.gateway.ledger import Ledger
from gateval.gateway.local.trial_calls import CallLimits, CallQueue, TrialCalls
from gateval.gateway.upstream.endpoints import PROVIDERS, home_provider
from gateval.ports.model_calls import ModelTrouble
from gateval.wire.base import Format
from gateval.wire.registry import FORMATS, WIRE_FORMATS

AZURE = "/azure"
OPENROUTER = "/openrouter"
GEMINI = "/gemini"
"""The addresses of clients that do not share that of OpenAI and Anthropic."""

_DOORS = (
    (f"{AZURE}/openai", "azure"),
    (OPENROUTER, "openrouter"),
    (GEMINI, "gemini"),
    ("", ""),
)
_VERSION = re.compile(r"\A/v1(?:alpha|beta)?(?=/)")
_MODEL = r"(?P<model>[A-Za-z0-9_][\w.@:+-]*(?:/[A-Za-z0-9_][\w.@:+-]*)*)"
"""No part of a name begins with a dot, so that none leads elsewhere."""

_DEPLOYMENT = re.compile(rf"/deployments/{_MODEL}(?P<rest>/chat/completions|/embeddings)", re.ASCII)
_GOOGLE = re.compile(rf"/models/{_MODEL}(?P<verb>:[A-Za-z]+)", re.ASCII)
_LISTED = re.compile(rf"/models(?:/{_MODEL})?", re.ASCII)
_LONGEST = 300

_PLAIN = {
    (wire.base_path + wire.path).removeprefix("/v1"): name
    for name, wire in FORMATS.items()
    if "{model}" not in wire.path
}
_BY_VERB = {
    path.partition("{model}")[2].partition("?")[0]: (name, streams)
    for paths, streams in (
        ({name: one.path for name, one in FORMATS.items()}, False),
        ({name: one.stream_path for name, one in WIRE_FORMATS.items()}, True),
    )
    for name, path in paths.items()
    if "{model}" in path
}


class Endpoint(NamedTuple):
    """An endpoint. `wire` is its format, or empty for the list of models.

    `home` is the provider that a bare name means, or empty for the format's own. `model` is named
    by the path, and `streams` says that the path asks for a stream.
    """

    wire: str
    home: str = ""
    model: str = ""
    streams: bool = False


_COMMON = {f"/v1{path}": Endpoint(name) for path, name in _PLAIN.items()}
"""What nearly all requests ask for, found at once."""


def find(method: str, path: str) -> Endpoint | None:
    """Return the endpoint of a request by its decoded path, or None if there is none."""
    if method == "POST" and path in _COMMON:
        return _COMMON[path]
    if len(path) > _LONGEST:
        return None
    door, home = next((one for one in _DOORS if path.startswith(f"{one[0]}/")), _DOORS[-1])
    rest = _VERSION.sub("", path.removeprefix(door))
    if method == "GET":
        listed = _LISTED.fullmatch(rest)
        return Endpoint("", home, listed["model"] or "") if listed else None
    if method != "POST":
        return None
    deployment = _DEPLOYMENT.fullmatch(rest)
    if deployment:
        return Endpoint(_PLAIN[deployment["rest"]], home or "azure", deployment["model"])
    asked = _GOOGLE.fullmatch(rest) if home == "gemini" else None
    if asked and asked["verb"] in _BY_VERB:
        name, streams = _BY_VERB[asked["verb"]]
        return Endpoint(name, home, asked["model"], streams)
    return Endpoint(_PLAIN[rest], home) if rest in _PLAIN else None


def route(requested: str, models: Iterable[str], wire: str, home: str = "") -> str:
    """Return `provider/model-id` for the model name that a candidate sent.

    A model of the Agent's list (`models`) is meant by its whole name or by the id alone, that of
    the provider `home` first; else a name that begins with a known provider means that provider;
    else `home`, or the provider whose format (`wire`) the candidate speaks. OpenRouter's names
    begin like those of other providers, so at a home of one's own only that and scripts are known.
    """
    meant = [model for model in models if requested in (model, model.partition("/")[2])]
    if meant:
        return next((model for model in meant if model.startswith(f"{home}/")), meant[0])
    provider, slash, model_id = requested.partition("/")
    known = (home, SCRIPTED_PROVIDER) if home else (*PROVIDERS, SCRIPTED_PROVIDER)
    if slash and model_id and provider in known:
        return requested
    return f"{home or home_provider(wire)}/{requested}"


HOSTS: Mapping[str, str] = {
    "api.openai.com": "",
    ".api.openai.com": "",
    "api.anthropic.com": "",
    "openrouter.ai": OPENROUTER,
    "generativelanguage.googleapis.com": GEMINI,
    ".openai.azure.com": AZURE,
    ".cognitiveservices.azure.com": AZURE,
    ".services.ai.azure.com": AZURE,
}
"""The addresses of providers that clients have built in, and what the gateway has for each. What
begins with a dot stands for all hosts that end so."""

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?", re.ASCII)


class RedirectedPath(NamedTuple):
    """Where a call was meant to go, as `HOSTS` has it, and its path at this gateway."""

    host: str
    path: str


def redirected(host: str, path: str) -> RedirectedPath | None:
    """Return where a call to `path` of a provider's host goes; None for a host that is not known.

    OpenRouter has its endpoints below `/api`, and Google those of OpenAI's format below `/openai`.
    """
    if not _HOST.fullmatch(host):
        return None
    above = f".{host.partition('.')[2]}"
    known = next((one for one in (host, above) if one in HOSTS), None)
    if known is None:
        return None
    door = HOSTS[known]
    if door == OPENROUTER:
        path = path.removeprefix("/api")
    elif door == GEMINI:
        path = _GOOGLES_OPENAI.sub("/v1", path)
    return RedirectedPath(f"*{known}" if known.startswith(".") else known, door + path)


_GOOGLES_OPENAI = re.compile(r"\A/v1(?:alpha|beta)?/openai(?=/)")

REDIRECT_VARIABLE, REDIRECT_HOSTS_VARIABLE = "GATEVAL_REDIRECT", "GATEVAL_REDIRECT_HOSTS"
REDIRECT_PATH = "/redirect/"
"""Calls that were meant for another address come below this one, with a key of the instance and the
host before their own path."""

MOST_KEYS, MOST_KEYS_OF_SIDE = 20, 1_000
"""Keys of its own that one instance may bring, and those of a side together: each is searched for
in all that they say."""

TOOLS_VARIABLE = "GATEVAL_MCP_URL"
TOOLS_PATH = "/mcp/"
"""The tools of an instance are below this address, at its key."""


class Session:
    """The way of one instance of a candidate to its models and tools, trial after trial. Made by
    `GatewayServer.open`. Calls are admitted between `begin` and `end` only.

    Attributes: `side` says whose scripted models answer, `models` is the Agent's list
    (`provider/model-id`), `uses` are more models that it may ask, `tools` those that the gate
    answers for at the address that ends in `tool_key`, `key` is the throw-away key for models,
    `turns` bounds what the instance does at once, `limits` what each call may ask, `trial` holds
    the calls of the trial under way and is None between trials; `tools_asked` says whether the
    instance ever spoke to the gate's MCP server, `stray` how many calls came between trials, since
    the session was opened. All of those were refused. Calls to other addresses that were led here
    carry `redirect_key`; the keys that the program put into them itself go into `brought`, which
    holds those of its whole side.
    """

    def __init__(
        self,
        side: Side,
        models: tuple[str, ...],
        uses: tuple[str, ...] = (),
        tools: tuple[ToolDefinition, ...] = (),
        *,
        address: str,
        limits: CallLimits,
        ledger: Ledger,
        on_close: Callable[[Session], None],
        brought: set[str] | None = None,
    ) -> None:
        self.side = side
        self.models = models
        self.uses = uses
        self.tools = tools
        self.limits = limits
        self.key = f"sk-gateval-{secrets.token_urlsafe(32)}"  # programs look for `sk-`
        self.tool_key = secrets.token_urlsafe(32)
        self.redirect_key = secrets.token_urlsafe(32)
        self._brought: set[str] = set()
        self._brought_by_side = set() if brought is None else brought
        self.turns = CallQueue(limits)
        self.trial: TrialCalls | None = None
        self.tools_asked = False
        self._ledger = ledger
        self._address = address
        self._on_close = on_close
        self.stray = 0

    def environment(self) -> dict[str, str]:
        """Return the environment variables that make the official SDKs come to us."""
        openai, anthropic = (WIRE_FORMATS[name] for name in ("openai-chat", "anthropic-messages"))
        offered = {TOOLS_VARIABLE: f"{self._address}{TOOLS_PATH}{self.tool_key}"}
        return {
            **(offered if self.tools else {}),
            "OPENAI_BASE_URL": self._address + openai.base_path,
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self._address + anthropic.base_path,
            "ANTHROPIC_API_KEY": self.key,
            "AZURE_OPENAI_ENDPOINT": self._address + AZURE,
            "AZURE_OPENAI_API_KEY": self.key,
            "OPENROUTER_BASE_URL": self._address + OPENROUTER + openai.base_path,
            "OPENROUTER_API_KEY": self.key,
            "GOOGLE_GEMINI_BASE_URL": self._address + GEMINI,
            "GEMINI_API_KEY": self.key,
            "GOOGLE_API_KEY": self.key,
        }

    def redirection(self) -> dict[str, str]:
        """Return the variables that tell the hook where calls of which hosts are to go."""
        return {
            REDIRECT_VARIABLE: f"{self._address}{REDIRECT_PATH}{self.redirect_key}",
            REDIRECT_HOSTS_VARIABLE: ",".join(HOSTS),
            "GOOGLE_GENERATIVE_AI_API_KEY": self.key,  # the AI SDK's client wants some key
        }

    def brings(self, keys: Iterable[str]) -> bool:
        """Take note of keys that came with a call and are none of ours, so that they are taken out
        of what is told of the instance. Returns whether that is still possible.
        """
        own, of_side = self._brought, self._brought_by_side
        for key in {*keys} - own - {"", self.key}:
            if len(own) >= MOST_KEYS or len(of_side) >= MOST_KEYS_OF_SIDE:
                return False
            own.add(key)
            of_side.add(key)
        return True

    def refusal(self, model: str) -> str:
        """Return why `model` may not be asked: the empty string if it may, as any may if the
        Agent names none.
        """
        named = (*self.models, *self.uses)
        if not named or model in named:
            return ""
        return (
            f"The Agent names {', '.join(named)}, and not {model}; add it to `spec.uses` of its "
            "manifest."
        )

    def begin(
        self, repetition: int = 1, replay: Replay | None = None, caller: Caller | None = None
    ) -> None:
        """Admit calls from now on, into a fresh trace. A trial still under way is ended. `replay`
        answers for tools; without it each is shadowed. `caller` names the trial for recordings.
        """
        self.end()
        draw = f"{self.side}:{repetition}"
        if caller is not None:
            port = self._address.rpartition("/")[2]
            drawn = (*caller.drawn, self.key, self.tool_key, self.redirect_key, port)
            caller = caller.replace(drawn=drawn)
        self.trial = TrialCalls(self.limits, self._ledger, draw=draw, replay=replay, caller=caller)

    def trouble(self, limit: float, *, late: bool = False) -> ModelTrouble | None:
        """Return why the models were out of reach in the trial under way, which took `limit`
        seconds at most, all of them if it was `late`; or None. Ask before `end`.
        """
        return self.trial.trouble(limit, late=late) if self.trial else None

    def end(self) -> Trace | None:
        """End the trial and its calls, and return its trace: None if no model was called."""
        trial, self.trial = self.trial, None
        return trial.end() if trial else None

    @property
    def calls(self) -> CallsMade | None:
        """What became of the calls of the trial under way. Ask before `end`."""
        return self.trial.calls if self.trial else None

    @property
    def asks(self) -> bool:
        """Whether a call is under way."""
        return self.trial is not None and self.trial.asks

    def close(self) -> None:
        """End the trial if there is one, and refuse the key from now on."""
        self.end()
        self._on_close(self)


_KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")
"""Where Anthropic, Azure and Google have the key; the others have a bearer token."""


def presented_key(request: web.BaseRequest) -> str:
    """Return the key by any SDK's header, or as Google's examples have it in the address; the
    empty string for none.
    """
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    given = next((key for name in _KEY_HEADERS if (key := request.headers.get(name))), bearer)
    return given or (request.query.get("key", "") if request.path.startswith(GEMINI) else "")


def brought_keys(request: web.BaseRequest) -> set[str]:
    """Return all that may be a key in a call that was meant for another address."""
    named = (*_KEY_HEADERS, "Authorization", "Proxy-Authorization")
    given = [value for name in named for value in request.headers.getall(name, ())]
    return {*(one.rpartition(" ")[2] for one in given), *request.query.getall("key", ())}


def shape(path: str, headers: Mapping[str, str]) -> Format:
    """Return the format in which its asker expects an answer that belongs to no format."""
    if path.startswith(GEMINI):
        return FORMATS["gemini-content"]
    is_anthropic = "anthropic-version" in headers
    return FORMATS["anthropic-messages" if is_anthropic else "openai-chat"]
