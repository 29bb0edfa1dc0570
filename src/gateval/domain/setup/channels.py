"""Ways to an agent that nothing here can take: chats of other services, voice, sites, own models.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from gateval.domain.setup.other_work import NAMED, Refusal

_CHATS = {
    "Telegram": r"telegram|telebot|aiogram|pyrogram|telethon|telegraf|nestjs-telegraf|grammy"
    r"|node-telegram-bot-api|@(?:chat-adapter|copilotkit/channels)/telegram",
    "Slack": r"slack_bolt|@slack/[\w-]+|@(?:chat-adapter|copilotkit/channels)/slack",
    "Discord": r"discord|disnake|nextcord|discord\.js"
    r"|@(?:chat-adapter|copilotkit/channels)/discord",
    "WhatsApp": r"pywa|heyoo|whatsapp-web\.js|@whiskeysockets/baileys"
    r"|@(?:chat-adapter|copilotkit/channels)/whatsapp",
    "Teams": r"botbuilder[\w./-]*|microsoft_teams|@microsoft/teams[\w.-]*"
    r"|@(?:chat-adapter|copilotkit/channels)/teams",
    "Google Chat": "@chat-adapter/gchat",
    "LINE": r"linebot|@line/bot-sdk",
    "Matrix": "nio|mautrix",
    "Zulip": "zulip",
    "Mattermost": "mmpy_bot|mattermostdriver",
    "WeChat": "wechaty|itchat|wechatpy",
    "XMTP": r"xmtp|@xmtp/[\w-]+",
}
_HEARD = {
    "Bluesky": (
        r"atproto(?:_client)?|@atproto/api",
        r"(?i)notif|firehose|mention|convo|subscri|\bdms?\b",
    ),
    "Mastodon": ("mastodon", r"(?i)notif|stream|mention"),
    "Reddit": ("praw", r"\.stream\b|\bstream\.\w|\.inbox\b"),
    "Slack": ("slack_sdk", r"socket_mode|\brtm\b|[sS]ignature|/slack/"),
    "Twitter": ("tweepy", r"\bStream|mentions"),
    "Twilio": ("twilio", r"\btwiml\b|\b(?:Messaging|Voice)Response\b"),
}
"""Services to which programs also send alone, and how one shows that it hears of them."""

_DAPR_AGENTS = (
    r"dapr_agents(?!\.(?:llm|types|tool)\b(?!.*\bDapr))(?![ \t]+import[ \t]+"
    r"(?:(?!Dapr)\w+(?:ChatClient|Message)|tool)(?:,[ \t]*(?!Dapr)\w+(?:ChatClient|Message))*$)"
)
"""Dapr Agents, beside its clients of models, which are asked without Dapr."""

_PLATFORMS = {
    "an agent of uAgents, which messages of other agents ask": r"uagents(?:_\w+)?",
    "a service of Restate, which its server asks": "restate",
    "a worker of Temporal, which its server gives work": "temporalio",
    "an Actor of Apify, which takes its input from that platform": "apify",
    "a program of Dapr Agents, which `dapr run` starts and asks": _DAPR_AGENTS,
    "a program of Dapr, which `dapr run` starts": "dapr",
    "a workflow of the NeMo Agent Toolkit, which its program `nat` runs": "nat|aiq",
    "a server of ACP, which its clients ask": "acp_sdk",
    "a handler of Azure Functions, which their own program starts": r"azure\.functions",
    "an agent of Restack, whose engine asks it by events": "restack_ai",
    "a function of Modal, which `modal` runs on that platform": "modal",
    "a function of Beam, which `beam` runs on that platform": "beam",
    "a worker of RunPod, which that platform gives work": "runpod",
    "a predictor of Cog, which `cog` runs in a container": "cog",
    "a service of BentoML, which `bentoml serve` starts": "bentoml",
    "a deployment of Ray Serve, which `serve run` starts": r"ray\.serve",
    "a worker of Hatchet, which its server gives work": "hatchet_sdk",
    "a function of Inngest, which its server calls": "inngest",
    "an action of Rasa, which its server calls": "rasa_sdk",
    "a part of a bot of Rasa, which its program `rasa` runs": "rasa",
    "an agent of the Microsoft 365 Agents SDK, whose channels ask it": "microsoft_agents",
    "a workflow of LlamaAgents, which `llamactl` serves": "llama_deploy|llama_agents",
}
_OTHERWISE = {
    "a server of LitServe, whose `decode_request` `init` does not read": "litserve",
    "a flow of Prefect, which is run and not asked": "prefect",
    "a job of Dagster, which is run and not asked": "dagster",
    "a DAG of Airflow, which is run and not asked": "airflow",
    "a workflow of DBOS, which is run and not asked": "dbos",
    "a server of Parlant, which is asked in sessions of its own": "parlant",
    "a client of an agent that runs in Copilot Studio": r"microsoft_agents\.copilotstudio",
    "a client of an agent that speaks A2A and runs elsewhere": r"a2a\.client",
    "a client of an agent of MindsDB, which its server runs": "mindsdb_sdk",
}
_VOICE = (
    r"fastrtc|vision_agents|livekit|pipecat|pyaudio|sounddevice|speech_recognition|vocode|pyttsx3|RealtimeSTT"
    r"|@livekit/agents|@openai/agents-realtime|@openai/agents/realtime|elevenlabs|deepgram"
)
_OWN_MODELS = (
    r"transformers|llama_cpp|ctransformers|gpt4all|vllm|mlx_lm|torch|tensorflow|keras|nltk"
    r"|chatterbot|spacy|sklearn|node-llama-cpp|@xenova/transformers|@huggingface/transformers"
)


_IMPORTING = re.compile(
    r"^.*\b(?:import|from|require|createFunction|agent-kit|realtime)\b.*$", re.M
)
"""Lines by which a cause is told."""


def _imports(names: str) -> re.Pattern[str]:
    """Match an import of one of these modules or packages, or of a part of one."""
    python = (
        rf"^[ \t]*(?:import|from)[ \t]+(?:{names})(?:\.\w+)*[ \t,]|^[ \t]*import[ \t]+(?:{names})$"
    )
    return re.compile(
        rf"{python}|(?:\bfrom|\bimport|\brequire\()[ \t]*[\"'](?:{names})(?:/[\w/-]+)?[\"']", re.M
    )


def _chat(name: str) -> Refusal:
    return Refusal(
        f"is a bot of {name}: its questions come from there, and from nowhere here.", NAMED
    )


_CHAT_IMPORTS = {name: _imports(modules) for name, modules in _CHATS.items()}
_SPOKEN = Refusal("is spoken to, and nothing here speaks.", NAMED)
_CAUSES = (
    *((_imports(modules), Refusal(f"is {what}.", NAMED)) for what, modules in _OTHERWISE.items()),
    *(
        (_imports(modules), Refusal(f"is {what}, and nothing here.", NAMED))
        for what, modules in _PLATFORMS.items()
    ),
    *((imports, _chat(name)) for name, imports in _CHAT_IMPORTS.items()),
    (_imports(_VOICE), _SPOKEN),
    (re.compile(r"\bapi\.openai\.com/v1/realtime\b"), _SPOKEN),
    (
        re.compile(r"\binngest\.createFunction\(|[\"']@inngest/agent-kit/server[\"']"),
        Refusal("is a job of Inngest, whose server alone starts it.", NAMED),
    ),
    (
        re.compile(r"^from django\.(?:urls|http|shortcuts|core)\b", re.M),
        Refusal("is a site of Django, whose views `init` does not read.", NAMED),
    ),
)
_HEARING = tuple(
    (_imports(modules), re.compile(hears), _chat(name)) for name, (modules, hears) in _HEARD.items()
)
_OWN = (
    _imports(_OWN_MODELS),
    Refusal(
        "answers by a model in its own process, so that no call of a model can be seen here.",
        "Write the Agent by hand, with the command that starts it and what its answer must hold: "
        "docs/getting-started.md shows one.",
    ),
)


_WITHIN = {
    name: (_imports(_PLATFORMS[what]), Refusal(f"is {what}, and nothing here.", NAMED))
    for name, what in (
        ("restate", "a service of Restate, which its server asks"),
        ("uagents", "an agent of uAgents, which messages of other agents ask"),
        ("microsoft_agents", "an agent of the Microsoft 365 Agents SDK, whose channels ask it"),
    )
}
"""Platforms in whose modules an agent cannot be asked by itself: what it does goes through what the
platform gives, or they want its credentials as they are imported.
"""


_WORKFLOW = re.compile(r"^@workflow\.defn\b", re.M)
_OF_TEMPORAL = Refusal(
    "is a part of a workflow of Temporal, which a worker runs, and nothing here.", NAMED
)


@lru_cache(maxsize=4_096)  # many agents of one file
def within_platform(text: str) -> Refusal | None:
    """Return why an agent cannot be asked by itself that is made inside the module of a platform;
    None for any other.
    """
    found = (
        why for name, (imports, why) in _WITHIN.items() if name in text and imports.search(text)
    )
    worked = "temporalio" in text and _WORKFLOW.search(text)
    return next(found, _OF_TEMPORAL if worked else None)


_WORKS = tuple(
    why for _, why in _CAUSES if re.match(r"is a (?:worker|service|function|workflow) of ", why.why)
)


def worked_by(text: str) -> Refusal | None:
    """Return the platform that starts what a file does, if that gives it work; None for any
    other.
    """
    why = channel_of(text)
    return why if why in _WORKS else None


_LIVE = re.compile(r"-live-|-live$|native-audio|realtime")


def speaks_alone(models: Sequence[str]) -> Refusal | None:
    """Return why an agent is not asked all of whose models speak and hear; None for any other."""
    return _SPOKEN if models and all(map(_LIVE.search, models)) else None


_WAITS = re.compile(
    r"^from uipath\.[\w.]+ import[^#]{0,600}?\b(?:Wait|Create|Invoke|Start)[A-Z]\w+", re.M
)
_INTERRUPTS = re.compile(r"\binterrupt\(\s*\[?\s*(?:Wait|Create|Invoke|Start)[A-Z]\w+\(")
_WAITING = Refusal(
    "waits in the midst of its work for a task, a job or an event of UiPath (`interrupt`), whose "
    "platform alone goes on with it.",
    NAMED,
)


@lru_cache(maxsize=4_096)  # many agents of one file
def waits_for_platform(text: str) -> Refusal | None:
    """Return why a graph gives no answer that hands work to its platform, and waits for that; None
    for any other.
    """
    waits = "uipath" in text and _INTERRUPTS.search(text) and _WAITS.search(text)
    return _WAITING if waits else None


_DRAWN = r"(n8n|voiceflow|flowise|langflow|dify|botpress|make\.com|zapier|relevance ai)\b"
_RUN_ELSEWHERE = (
    (
        (
            rf"(?i)\bplatform\b\W{{1,6}}{_DRAWN}|\bimport\b[^\n]{{0,80}}\b{_DRAWN}"
            rf"|\b{_DRAWN}(?:[ -]\w[\w-]*){{0,2}} (?:agent|(?:work)?flow|chatbot|automation)\b"
        ),
        r"(?!(?:.*/)?(?:package|tsconfig)\b).*\.(?:json|vf|ya?ml|dsl|bpz)",
        "is a flow of {}, which that platform runs, and nothing here.",
    ),
    (
        r"\b(kubectl) (?:apply|create)\b|\b(helm) (?:install|upgrade)\b",
        r".*\.ya?ml",
        "describes what a cluster runs (`{}`), and no program that is here.",
    ),
    (
        r"\b(docker[ -]compose) up\b|\b(docker) run\b",
        r"(?:.*/)?(?:(?:docker-)?compose[\w.-]*\.ya?ml|Dockerfile)",
        "starts a program of an image (`{}`), and none that is here.",
    ),
)
"""What READMEs tell of what is run elsewhere, the files that it is made of, and why these are not
asked.
"""


def run_elsewhere(files: Collection[str], readme: str) -> tuple[str, Refusal] | None:
    """Return the file of which a README tells that a platform, a cluster or an image runs it, with
    why nothing here asks that; None where it tells of none.
    """
    nearest = sorted(files, key=lambda one: (one.count("/"), one))
    for told, named, why in _RUN_ELSEWHERE:
        found = re.search(told, readme)
        path = next((one for one in nearest if found and re.fullmatch(named, one)), "")
        if found and path:
            named_so = next(filter(None, found.groups()))
            return path, Refusal(why.format(named_so), NAMED)
    return None


_OWN_BRIDGE = (
    "A command that takes the question, an HTTP server or a bridge of your own asks it: "
    "docs/guides/bridges.md#a-bridge-of-your-own. " + NAMED
)


def no_bridge(framework: str, file: str, *, known: bool) -> Refusal:
    """Return why nothing asks a program; `file` imports its library, which has no bridge and is
    `known` or is only called like one; then "" is the program itself.
    """
    does = (
        f"gets its answers from {framework} (imported in {file})"
        if known
        else f"imports {framework}{f' (in {file})' if file else ''}"
    )
    return Refusal(
        f"{does}, for which there is no bridge, and"
        " nothing in it reads a question: not its arguments, its input or a request known here.",
        _OWN_BRIDGE,
    )


def channel_of(text: str, *, models: bool = False) -> Refusal | None:
    """Return why nothing here can ask a program of this text, if it is asked elsewhere; with
    `models` also if its model is its own.
    """
    causes = (*_CAUSES, _OWN) if models else _CAUSES
    lines = "\n".join(_IMPORTING.findall(text))  # some fifty patterns on whole files take long
    known = next((why for imports, why in causes if imports.search(lines)), None)
    if known and known.why.startswith("is a bot of "):  # of several services, it may be
        known = _chat(
            " and ".join(one for one, imports in _CHAT_IMPORTS.items() if imports.search(lines))
        )
    heard = (
        why for imports, hears, why in _HEARING if imports.search(lines) and hears.search(text)
    )
    return known or next(heard, None)
