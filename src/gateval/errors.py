"""Every error that a person can meet, with its exit code and the next step.

    GatevalError                 3  base class, never raised itself
    ├── UsageError               2  the command line or a setting asks for something impossible
    ├── InvalidManifests         2  manifests or gate config break the rules; carries all problems
    ├── StageFileError           2  plan, results or decision file that cannot be trusted
    ├── RepositoryError          3  git could not answer
    │   └── NoRepository         3  there is none
    ├── RecordsError             3  records in git could not be read, trusted or written
    ├── MissingKey               3  a provider key is needed and absent
    ├── EvaluationError          3  the run as a whole could not go on
    └── ForgeError               3  GitHub did not do what it was asked for
        ├── MissingPermission    3  the token may not do it; names the permission to add
        ├── NotOnForge           3  no such pull request, repository or comment
        ├── RateLimited          3  too many requests, and the wait would be too long
        ├── ForgeUnavailable     3  no answer, or 5xx, after all retries
        └── ForgeRejected        3  the request as it is: refused, and refused again if repeated

Exit code 1 (gate failed) and 0 (pass) belong to decisions, not to errors. `app/guard.py` is the
one place that turns an error into text and exit code. What happens to a single trial is data
(`domain/trials/trial.py`), never one of these.
"""

from __future__ import annotations

from typing import ClassVar

CA_VARIABLE = "GATEVAL_CA_FILE"
"""Names a file with a company's own certificate authorities; while a command runs, with the
machine's besides, in PEM.
"""

CERTIFICATE_HINT = (
    f"Name the file of your CA in the variable {CA_VARIABLE}: see docs/guides/enterprise.md."
)

EXIT_PASS = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_EVALUATED = 3
EXIT_INTERRUPTED = 130


class GatevalError(Exception):
    """An error for a person: the problem (`message`) and the next step (`hint`), both sentences."""

    exit_code: ClassVar[int] = EXIT_NOT_EVALUATED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def sentence(self) -> str:
        """The problem and the next step, as one line."""
        return f"{self.message} {self.hint}".strip()


class UsageError(GatevalError):
    """The command line or an environment setting cannot be followed."""

    exit_code = EXIT_USAGE


class StageFileError(GatevalError):
    """A plan, results or decision file has an unknown version, an unknown field, or is too big."""

    exit_code = EXIT_USAGE


class RepositoryError(GatevalError):
    """git is missing, the folder is no repository, a revision is unknown, an object is absent."""


class NoRepository(RepositoryError):
    """There is no repository at all around a folder."""


class RecordsError(GatevalError):
    """Records in git could not be read, trusted or written. The message holds no secret.

    `permission` is what the token lacks, as in a workflow (`contents: write`); empty otherwise.
    """

    def __init__(self, message: str, *, hint: str = "", permission: str = "") -> None:
        super().__init__(message, hint=hint)
        self.permission = permission


class MissingKey(GatevalError):
    """A model provider is needed, but its key is not in the environment."""


class EvaluationError(GatevalError):
    """The evaluation could not be carried out as a whole."""


class ForgeError(GatevalError):
    """GitHub did not do what it was asked for. The message holds no secret."""


class MissingPermission(ForgeError):
    """The token lacks a permission; `permission` reads as in a workflow: `checks: write`."""

    def __init__(self, message: str, *, permission: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.permission = permission


class NotOnForge(ForgeError):
    """The forge has no such thing, or the token may not know of it."""


class RateLimited(ForgeError):
    """GitHub asks for a longer pause than the gate may wait."""


class ForgeUnavailable(ForgeError):
    """GitHub was not reached, or failed on its side, also after all retries."""


class ForgeRejected(ForgeError):
    """GitHub refuses this request; repeating it would not help. `status` is HTTP's."""

    def __init__(self, message: str, *, status: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
