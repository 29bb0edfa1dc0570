"""Refusals as errors that say what to do."""

from __future__ import annotations

import json

import pytest

from gateval.adapters.github.transport import ApiResponse, refusal
from gateval.errors import (
    ForgeError,
    ForgeRejected,
    MissingPermission,
    NotOnForge,
    RateLimited,
)

NOT_ACCESSIBLE = "Resource not accessible by integration"


def refused(
    status: int, said: str = "", permission: str = "checks: write", **headers: str
) -> ForgeError:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = ApiResponse(status, names, json.dumps({"message": said}))
    return refusal(answer, "take a check run", permission)


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("", "pull-requests: write"),
        ("issues=write; pull_requests=write", "pull-requests: write"),
        ("issues=write", "issues: write"),
        ("contents=read,administration=write; x=y", "contents: read, administration: write"),
        ("<b>=write", "pull-requests: write"),
    ],
)
def test_the_missing_permission_is_named_as_a_workflow_writes_it(header: str, named: str) -> None:
    error = refused(
        403, NOT_ACCESSIBLE, "pull-requests: write", x_accepted_github_permissions=header
    )

    assert isinstance(error, MissingPermission)
    assert error.permission == named
    assert error.hint == f"Add `{named}` to the job's `permissions`."
    assert NOT_ACCESSIBLE in error.message


@pytest.mark.parametrize(
    ("status", "said", "kind", "words"),
    [
        (401, "Bad credentials", ForgeRejected, "does not accept the token"),
        (403, "You have exceeded a secondary rate limit", RateLimited, "rate limit"),
        (403, "Unable to create comment because issue is locked.", ForgeRejected, "is locked"),
        (403, "Invalid app_id `15368`", ForgeRejected, "Invalid app_id"),
        (404, "Not Found", NotOnForge, "knows nothing of it"),
        (307, "", ForgeRejected, "sent the gate elsewhere (307)"),
        (422, "body is too long", ForgeRejected, "(422: body is too long)"),
    ],
)
def test_kinds(status: int, said: str, kind: type[ForgeError], words: str) -> None:
    error = refused(status, said)

    assert type(error) is kind
    assert words in error.message
    assert error.exit_code == 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            '{"message": "Validation Failed", "errors": [{"message": "title is long"}]}',
            "Validation Failed; title is long",
        ),
        ('{"message": "No", "errors": ["one", {"code": "x"}]}', "No; one; {'code': 'x'}"),
        ("<html>", ""),
        ("[]", ""),
        ("", ""),
        (json.dumps({"message": "x" * 900}), "x" * 300),
    ],
)
def test_what_github_said(body: str, said: str) -> None:
    assert ApiResponse(422, {}, body).said == said
