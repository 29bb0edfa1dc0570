"""Whose family a model is of, by its name: models like the answers of their own family more."""

from __future__ import annotations

import re
from typing import Final

from gateval.domain.manifests.evaluation import script_name

_MAKERS: Final = {
    "Amazon": r"nova|titan",
    "Anthropic": r"claude",
    "Cohere": r"command|c4ai",
    "DeepSeek": r"deepseek",
    "Google": r"gemini|gemma",
    "Meta": r"llama|meta-llama",
    "Microsoft": r"phi",
    "Mistral": r"mi[sx]tral|ministral|magistral|codestral|devstral|pixtral",
    "Moonshot": r"kimi|moonshot",
    "OpenAI": r"gpt|chatgpt|o[1-9](?![a-z])|codex",
    "Qwen": r"qwen|qwq",
    "xAI": r"grok",
    "Zhipu": r"glm",
}
"""How the ids of a maker's models begin, or what stands in them behind a slash, dot or dash."""

_FAMILIES: Final = {
    maker: re.compile(rf"(?:^|[/.:_-])(?:{ids})", re.IGNORECASE) for maker, ids in _MAKERS.items()
}


def family(model: str) -> str:
    """Return who made a model (`provider/model-id`), else the provider; empty for a script.

    A model that is tuned from another is of that one's family, too: the first that is named counts.
    """
    if script_name(model) is not None:
        return ""
    provider, _, name = model.partition("/")
    found = [
        (place.start(), maker)
        for maker, ids in _FAMILIES.items()
        if (place := ids.search(name)) is not None
    ]
    return min(found)[1] if found else provider
