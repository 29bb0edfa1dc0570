"""What became of the model calls of a trial: whether a model had a say in its answer at all.

A program may catch the error of every call it makes and print something all the same. Such an
answer no model gave, and whose fault that is, the other side of the same run tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from gateval.domain.base import Value

SAID_LIMIT = 300
"""Characters kept of why calls were refused."""


class RefusedBy(StrEnum):
    """Who refused the calls of a trial of which none succeeded, in the end.

    `provider`: it refuses what was asked (no such model, a wrong parameter); `gateway`: the gate's
    own rules do (a model that the Agent does not name, a limit); `outage`: the provider was down,
    refused the key, or is not set up, which is no fault of who asked.
    """

    PROVIDER = "provider"
    GATEWAY = "gateway"
    OUTAGE = "outage"


class CallsMade(Value):
    """How many model calls a trial made, and how many of them a model answered.

    `inputs` of them had texts measured (embeddings, moderation), of which `inputs_answered` were.
    `refused_by` says who refused the others, None where nobody did: the caller gave up. `status` is
    the HTTP status of a provider's refusal, and `said` are its words, or the gate's, cut at
    `SAID_LIMIT`.
    """

    made: int = Field(default=0, ge=0)
    answered: int = Field(default=0, ge=0)
    inputs: int = Field(default=0, ge=0)
    inputs_answered: int = Field(default=0, ge=0)
    refused_by: RefusedBy | None = None
    status: int | None = None
    said: str = ""

    @property
    def talks(self) -> int:
        """The calls that asked a model for words."""
        return self.made - self.inputs

    @property
    def unanswered(self) -> bool:
        """Whether calls were made and no model answered one.

        Where a model was asked for words, texts that were measured beside that are no answer.
        """
        if self.talks:
            return self.answered == self.inputs_answered
        return self.made > 0 and self.answered == 0

    @property
    def is_refused(self) -> bool:
        """Whether all calls failed because of what was asked, as they will the next time."""
        wanted = {RefusedBy.PROVIDER, RefusedBy.GATEWAY}
        return self.unanswered and self.refused_by in wanted

    @property
    def why(self) -> str:
        """Why no call succeeded, as a sentence."""
        many = "its only model call" if self.made == 1 else f"all {self.made} model calls"
        if self.refused_by is None:
            return f"The agent gave up {many} before a model answered."
        who = "The gateway refused" if self.refused_by is RefusedBy.GATEWAY else "No model answered"
        return f"{who} {many}: {self.said}" if self.said else f"{who} {many}."

    @property
    def shut(self) -> CallsMade:
        """The same without anybody's words and without how often: what decides."""
        made, answered = min(self.made, 1), 0 if self.unanswered else min(self.answered, 1)
        measured = 0 if self.talks else made
        return CallsMade(
            made=made,
            answered=answered,
            inputs=measured,
            inputs_answered=measured and answered,
            refused_by=self.refused_by,
        )


def add_calls(parts: Iterable[CallsMade | None]) -> CallsMade | None:
    """Return the calls of several turns together; None where nobody counted those of one."""
    every = [one for one in parts if one is not None]
    if not every:
        return None
    failed = next((one for one in reversed(every) if one.refused_by), every[-1])
    return failed.model_copy(
        update={
            key: sum(getattr(one, key) for one in every)
            for key in ("made", "answered", "inputs", "inputs_answered")
        }
    )
