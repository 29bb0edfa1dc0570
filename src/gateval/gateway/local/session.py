"""One instance's access to models and tools: throw-away keys, and what it may ask in a trial."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from gateval.domain.trials.calls import CallsMade
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.tools import Replay
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Side
from gateval.gateway.ledger import Ledger
from gateval.gateway.local.limits import CallLimits, CallQueue
from gateval.gateway.local.routing import AZURE, GEMINI, OPENROUTER
from gateval.gateway.local.trial_calls import TrialCalls
from gateval.ports.model_calls import ModelTrouble
from gateval.wire.registry import WIRE_FORMATS

TOOLS_VARIABLE = "GATEVAL_MCP_URL"
TOOLS_PATH = "/mcp/"
"""The tools of an instance are below this address, at its key."""


class Session:
    """Made by `GatewayServer.open`; see `candidates.doors.models.ModelSession`.

    Attributes: `side` says whose scripted models answer, `models` is the Agent's list
    (`provider/model-id`), `uses` are more models that it may ask, `tools` those that the gate
    answers for at the address that ends in `tool_key`, `key` is the throw-away key for models,
    `turns` bounds what the instance does at once, `limits` what each call may ask, `trial` holds
    the calls of the trial under way and is None between trials; `tools_asked` says whether the
    instance ever spoke to the gate's MCP server.
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
    ) -> None:
        self.side = side
        self.models = models
        self.uses = uses
        self.tools = tools
        self.limits = limits
        self.key = f"gateval-{secrets.token_urlsafe(32)}"
        self.tool_key = secrets.token_urlsafe(32)
        self.turns = CallQueue(limits)
        self.trial: TrialCalls | None = None
        self.tools_asked = False
        self._ledger = ledger
        self._address = address
        self._on_close = on_close
        self._stray = 0

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

    def begin(self, repetition: int = 1, replay: Replay | None = None) -> None:
        """Admit calls from now on, into a fresh trace. A trial still under way is ended.

        `replay` answers for tools; without it each is shadowed.
        """
        self.end()
        draw = f"{self.side}:{repetition}"
        self.trial = TrialCalls(self.limits, self._ledger, draw=draw, replay=replay)

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

    @property
    def stray(self) -> int:
        """How many calls came between trials, since the session was opened. All were refused."""
        return self._stray

    def went_astray(self) -> None:
        """Count a call that came between trials."""
        self._stray += 1

    def close(self) -> None:
        """End the trial if there is one, and refuse the key from now on."""
        self.end()
        self._on_close(self)
