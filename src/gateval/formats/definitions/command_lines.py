"""Coding agents that run by their own command line, and where each takes the address of its models.

Each line was tried with the real program; what they read is in their documentation:
https://code.claude.com/docs/en/llm-gateway, https://developers.openai.com/codex/config-advanced,
https://docs.github.com/copilot/how-tos/copilot-cli/customize-copilot/use-byok-models,
https://geminicli.com/docs/get-started/authentication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.base import JsonObject

MAP = (
    "Say in .github/gateval.yml on the target branch how it is started: `agents: [{match: …, "
    "runtime: {type: command, command: […]}}]`, or `models: [provider/model-id]` and "
    "`runtime: {type: model}` to ask a model with its prompt alone."
)
"""What to do where the gate does not know how to start a definition."""


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


class Program(NamedTuple):
    """A coding agent's program: how it is started with a model (empty: its own choice), further
    words and a text to read; the provider whose models it names without more; whether it needs one.
    """

    start: Callable[[str, Sequence[str], str], JsonObject]
    provider: str
    needs_model: bool = False


PROGRAMS: Mapping[str, Program] = {
    "claude": Program(_claude, "anthropic"),
    "codex": Program(_codex, "openai"),
    "copilot": Program(_copilot, "openai", needs_model=True),
    "gemini": Program(_gemini, "gemini"),
}
"""By its name."""


def started_by(program: str, model: str, words: Sequence[str], asked: str) -> JsonObject:
    """Return the runtime that starts a program with a model, as `provider/model-id` or as it names
    it itself; empty for its own choice.
    """
    known = PROGRAMS[program]
    return known.start(model.removeprefix(f"{known.provider}/"), words, asked)
