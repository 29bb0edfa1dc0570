"""Answers that are refusals, as our errors. Pure."""

from __future__ import annotations

import re

from gateval.adapters.github.response import ApiResponse
from gateval.adapters.github.waiting import Trouble, is_limited
from gateval.domain.setup.authorities import CERTIFICATE_HINT
from gateval.errors import (
    ForgeError,
    ForgeRejected,
    ForgeUnavailable,
    MissingPermission,
    NotOnForge,
    RateLimited,
)

_CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED|CA certificate bundle")
_NOT_ALLOWED = re.compile(r"not accessible by|must have (?:admin|write|push)|permission", re.I)


def refusal(answer: ApiResponse, what: str, permission: str) -> ForgeError:
    """Return the error for an answer that no retry mends.

    `what` completes "GitHub did not ..."; `permission` is what the request needs, as a workflow
    writes it.
    """
    said = f": {answer.said}" if answer.said else ""
    if is_limited(answer):
        return RateLimited(f"GitHub's rate limit kept the gate from its work: it did not {what}.")
    if answer.status == 401:
        return ForgeRejected(
            f"GitHub does not accept the token: it did not {what}{said}.",
            status=401,
            hint="Give the action a token that is valid, such as github.token.",
        )
    if answer.status == 403 and _NOT_ALLOWED.search(answer.said):
        wanted = _wanted(answer, permission)
        return MissingPermission(
            f"The token may not {what} ({answer.said}): the gate needs the permission `{wanted}`.",
            permission=wanted,
            hint=f"Add `{wanted}` to the job's `permissions`.",
        )
    if answer.status == 404:
        return NotOnForge(
            f"GitHub knows nothing of it, or hides it from this token: it did not {what}{said}.",
            hint=f"If it is there, the token may lack the permission `{permission}`.",
        )
    if 300 <= answer.status < 400:
        return ForgeRejected(
            f"GitHub sent the gate elsewhere ({answer.status}) and did not {what}.",
            status=answer.status,
            hint="Was the repository renamed? The gate follows no redirect to another place.",
        )
    return ForgeRejected(f"GitHub did not {what} ({answer.status}{said}).", status=answer.status)


def outage(trouble: Trouble, what: str, *, detail: str, waited: float) -> ForgeError:
    """Return the error for a request that was repeated in vain."""
    waiting = f" The gate waited {waited:.0f} s." if waited >= 1 else ""
    if trouble is Trouble.LIMIT:
        return RateLimited(
            f"GitHub asks for {detail} before it will {what}, because there were too many "
            f"requests.{waiting}",
            hint="Run the job again later.",
        )
    return ForgeUnavailable(
        f"GitHub did not {what}: {detail}.{waiting}",
        hint="See https://www.githubstatus.com, and run the job again later.",
    )


def is_certificate(error: OSError) -> bool:
    """Whether the server's certificate, or the file of authorities, is what was not accepted."""
    return bool(_CERTIFICATE.search(str(error)))


def untrusted(what: str) -> ForgeError:
    """Return the error for a server whose certificate nobody we trust has signed."""
    return ForgeRejected(
        f"GitHub did not {what}: its certificate is not one that this machine trusts.",
        hint=CERTIFICATE_HINT,
    )


def _wanted(answer: ApiResponse, usual: str) -> str:
    """Return the permission to name: the usual one, unless GitHub's own header has none like it.

    The usual one is what the gate's whole work asks for; the header tells of this request. It lists
    sets that would do, separated by semicolons: `issues=write; a=read,b=write`.
    """
    header = answer.headers.get("x-accepted-github-permissions", "")
    sets = [
        ", ".join(part.strip().replace("_", "-").replace("=", ": ") for part in one.split(","))
        for one in header.split(";")
        if re.fullmatch(r"\s*[a-z_]+=[a-z]+(?:\s*,\s*[a-z_]+=[a-z]+)*\s*", one)
    ]
    scope = usual.partition(":")[0]
    alike = any(part.partition(":")[0] == scope for one in sets for part in one.split(", "))
    return usual if alike or not sets else sets[0]
