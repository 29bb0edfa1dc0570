"""Which variables `policy.candidateEnv` may not name: candidates run code from the pull request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache

from gateval.domain.text.quoting import quote

_PRIVATE = frozenset({"HOME", "TMPDIR"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_EXPRESSION = re.compile(r"\$\{\{[^{}]*\}\}")
_SECRET = re.compile(r"secrets\.(\w+)")

_OTHER_PROVIDERS = [
    "AZURE_OPENAI",
    "CLAUDE",
    "MISTRAL",
    "GROQ",
    "XAI",
    "COHERE",
    "DEEPSEEK",
    "VOYAGE",
    "TOGETHER",
    "FIREWORKS",
    "PERPLEXITY",
    "CEREBRAS",
    "REPLICATE",
    "NVIDIA",
    "HF",
    "HUGGINGFACE",
    "HUGGING_FACE",
    "GOOGLE_GENAI",
    "GOOGLE_GENERATIVE_AI",
]

_RUNNER = re.compile(
    r"(ACTIONS|INPUT|GATEVAL)_.*|(GITHUB|GH)_.*TOKEN.*|GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY)"
)


def refusal(name: str, providers: Collection[str]) -> str | None:
    """Return why `policy.candidateEnv` may not name this variable, as a sentence, or None.

    `providers` are the prefixes of the variables of the providers that the gate calls itself.
    """
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name of an environment variable."
    upper = name.upper()
    if upper in _PRIVATE:
        return f"{name} cannot be passed to candidates: each trial has a private one."
    if _provider_key(frozenset(providers)).fullmatch(upper):
        return (
            f"{name} looks like the key of a model provider, and candidates run code from the pull "
            "request. They reach models through the gateway, without the key; remove the name."
        )
    if _RUNNER.fullmatch(upper):
        return (
            f"{name} belongs to the gate or to the runner and would let code from the pull request "
            "act in their name; remove the name."
        )
    return None


def refusals(names: Iterable[str], providers: Collection[str]) -> tuple[str, ...]:
    """Return the sentences for all names that `policy.candidateEnv` may not hold."""
    return tuple(sentence for name in names if (sentence := refusal(name, providers)))


def expression_problem(literal: str, name: str) -> str | None:
    """Return what is wrong with a literal for the variable `name` that only a workflow would fill
    in, as `${{ secrets.X }}` is, or None.
    """
    found = _EXPRESSION.search(literal)
    if found is None:
        return None
    secret = _SECRET.search(found[0])
    said = f"{quote(found[0])} is an expression of a workflow, which nobody fills in here. "
    if (secret[1] if secret else name).upper().endswith("_API_KEY"):
        said += "A program reaches models without their keys; for another one, set "
    else:
        said += "Set "
    return (
        f"{said}{name} in the environment of the gate, remove it here, and name it in "
        "policy.candidateEnv of .github/gateval.yml."
    )


@cache
def _provider_key(providers: frozenset[str]) -> re.Pattern[str]:
    prefix = "|".join(sorted({*providers, *_OTHER_PROVIDERS}))
    return re.compile(
        rf"({prefix})_(.*_)?(KEYS?|TOKEN|SECRET)(_.*)?"
        "|GOOGLE_API_KEY|CO_API_KEY|AWS_BEARER_TOKEN_BEDROCK"
    )
