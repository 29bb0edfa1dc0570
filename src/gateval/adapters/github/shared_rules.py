"""Fulfils `ports.sources.SharedRules` through GitHub's API for contents of repositories.

The answer names a blob by its id. That it is the id of the content is checked, so that nothing on
the way can hand out other rules than the commit holds.
https://docs.github.com/rest/repos/contents
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr, ValidationError

from gateval.adapters.github.shapes import understood
from gateval.adapters.github.transport import (
    PUBLIC_API,
    ApiRequest,
    GitHubAccess,
    GitHubTransport,
    RetryLimits,
)
from gateval.domain.base import plain_message
from gateval.domain.manifests.gate_config import RulesSource
from gateval.errors import ForgeRejected, MissingPermission, NotOnForge


class GitHubRules:
    """Reads rules with one token, which may see their repository. `where` tells how to give one."""

    def __init__(
        self,
        token: str,
        api_url: str = PUBLIC_API,
        *,
        where: str,
        ca_file: str = "",
        limits: RetryLimits | None = None,
    ) -> None:
        self._token = token
        self._api_url = api_url
        self._where = where
        self._ca_file = ca_file
        self._limits = limits or RetryLimits()

    def read(self, source: RulesSource) -> bytes:
        """Return the file at that commit. Raises `ForgeError`."""
        if not self._token:
            raise ForgeRejected("There is no token to read them with.", hint=self._where)
        access = self._access(source.repository)
        what = f"give {source}"
        request = ApiRequest(
            "GET",
            f"/contents/{quote(source.path)}",
            what,
            "contents: read",
            query={"ref": source.commit},
        )
        content = self._content(GitHubTransport(access, self._limits), request)
        with understood(what):
            if isinstance(content, list) or content["type"] != "file":
                raise ForgeRejected(f"GitHub did not {what}: it is no file.")
            if content["encoding"] != "base64":
                raise ForgeRejected(f"GitHub did not {what}: the file is larger than 1 MB.")
            return _checked(content["content"], content["sha"], what)

    def _content(self, transport: GitHubTransport, request: ApiRequest) -> Any:
        """Send the request. What a token may not see, another token may."""
        try:
            return transport.ask(request)
        except (MissingPermission, NotOnForge) as error:
            raise ForgeRejected(error.message, hint=self._where) from error

    def _access(self, repository: str) -> GitHubAccess:
        token = SecretStr(self._token)
        try:
            return GitHubAccess(
                repository=repository, token=token, api_url=self._api_url, ca_file=self._ca_file
            )
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            said = plain_message(first["msg"])
            raise ForgeRejected(f"GitHub cannot be reached with this environment: {said}.")


def _checked(encoded: str, blob: str, what: str) -> bytes:
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except ValueError:
        raise ForgeRejected(f"GitHub did not {what}: its answer cannot be decoded.")
    made = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    if made != blob:
        raise ForgeRejected(f"GitHub did not {what}: the content is not that of blob {blob:.40}.")
    return data
