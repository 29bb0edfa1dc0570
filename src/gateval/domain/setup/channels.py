"""Ways to an agent that nothing here can take: chats of other services, voice, sites, own models.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import re

from gateval.domain.setup.other_work import NAMED, Refusal

_CHATS = {
    "Telegram": r"telegram|telebot|aiogram|pyrogram|telethon|telegraf|nestjs-telegraf|grammy"
    r"|node-telegram-bot-api",
    "Slack": r"slack_bolt|slack_sdk|@slack/[\w-]+",
    "Discord": r"discord|disnake|nextcord|discord\.js",
    "WhatsApp": r"pywa|heyoo|whatsapp-web\.js|@whiskeysockets/baileys",
    "Teams": r"botbuilder[\w./-]*|microsoft_teams|@microsoft/teams[\w.-]*",
    "LINE": r"linebot|@line/bot-sdk",
}
_PLATFORMS = {
    "an agent of uAgents, which messages of other agents ask": "uagents",
    "a service of Restate, which its server asks": "restate",
    "a worker of Temporal, which its server gives work": "temporalio",
    "an Actor of Apify, which takes its input from that platform": "apify",
    "a program of Dapr Agents, which `dapr run` starts and asks": "dapr_agents|dapr",
    "a workflow of the NeMo Agent Toolkit, which its program `nat` runs": "nat|aiq",
    "a server of ACP, which its clients ask": "acp_sdk",
    "a handler of Azure Functions, which their own program starts": r"azure\.functions",
}
_VOICE = (
    r"fastrtc|livekit|pipecat|pyaudio|sounddevice|speech_recognition|vocode|pyttsx3|RealtimeSTT"
    r"|@livekit/agents|@openai/agents-realtime|@openai/agents/realtime|elevenlabs|deepgram"
)
_OWN_MODELS = (
    r"transformers|llama_cpp|ctransformers|gpt4all|vllm|mlx_lm|torch|tensorflow|keras|nltk"
    r"|chatterbot|spacy|sklearn|node-llama-cpp|@xenova/transformers|@huggingface/transformers"
)


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


_CAUSES = (
    *(
        (_imports(modules), Refusal(f"is {what}, and nothing here.", NAMED))
        for what, modules in _PLATFORMS.items()
    ),
    *((_imports(modules), _chat(name)) for name, modules in _CHATS.items()),
    (_imports(_VOICE), Refusal("is spoken to, and nothing here speaks.", NAMED)),
    (
        re.compile(r"\binngest\.createFunction\(|[\"']@inngest/agent-kit/server[\"']"),
        Refusal("is a job of Inngest, whose server alone starts it.", NAMED),
    ),
    (
        re.compile(r"^from django\.(?:urls|http|shortcuts|core)\b", re.M),
        Refusal("is a site of Django, whose views `init` does not read.", NAMED),
    ),
)
_OWN = (
    _imports(_OWN_MODELS),
    Refusal(
        "answers by a model in its own process, so that no call of a model can be seen here.",
        "Write the Agent by hand, with the command that starts it and what its answer must hold: "
        "docs/getting-started.md shows one.",
    ),
)


def channel_of(text: str, *, models: bool = False) -> Refusal | None:
    """Return why nothing here can ask a program of this text, if it is asked elsewhere; with
    `models` also if its model is its own.
    """
    causes = (*_CAUSES, _OWN) if models else _CAUSES
    return next((why for imports, why in causes if imports.search(text)), None)
