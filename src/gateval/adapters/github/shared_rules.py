"""The file of rules that a gate config extends, through GitHub's API for contents of repositories.

The answer names a blob by its id. That it is the id of the content is checked, so that nothing on
the way can hand out other rules than the commit holds.
https://docs.github.com/rest/repos/contents
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from urllib.parse import quote

from gateval.adapters.github.shapes import understood
from gateval.adapters.github.transport import (
    ApiRequest,
    GitHubTransport,
    RetryLimits,
    access_in,
)
from gateval.domain.manifests.gate_config import RulesSource
from gateval.errors import ForgeRejected, MissingPermission, NotOnForge


def read_shared_rules(
    source: RulesSource, token: str, environ: Mapping[str, str], *, where: str
) -> bytes:
    """Return the file at that commit, as a token may see it. Raises `ForgeError`.

    `where` tells how to give a token.
    """
    if not token:
        raise ForgeRejected("There is no token to read them with.", hint=where)
    try:
        access = access_in(environ, source.repository, token)
    except ValueError as error:
        raise ForgeRejected(f"GitHub cannot be reached with this environment: {error}.")
    what, query = f"give {source}", {"ref": source.commit}
    path = f"/contents/{quote(source.path)}"
    try:
        asked = ApiRequest("GET", path, what, "contents: read", query=query)
        content = GitHubTransport(access, RetryLimits()).ask(asked)
    except (MissingPermission, NotOnForge) as error:  # another token may see it
        raise ForgeRejected(error.message, hint=where) from error
    with understood(what):
        if isinstance(content, list) or content["type"] != "file":
            raise ForgeRejected(f"GitHub did not {what}: it is no file.")
        if content["encoding"] != "base64":
            raise ForgeRejected(f"GitHub did not {what}: the file is larger than 1 MB.")
        return _checked(content["content"], content["sha"], what)


def _checked(encoded: str, blob: str, what: str) -> bytes:
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except ValueError:
        raise ForgeRejected(f"GitHub did not {what}: its answer cannot be decoded.")
    made = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    if made != blob:
        raise ForgeRejected(f"GitHub did not {what}: the content is not that of blob {blob:.40}.")
    return data
