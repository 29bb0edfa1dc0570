"""Where GitHub is and who we are there."""

from __future__ import annotations

import re
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from gateval.domain.base import Value
from gateval.domain.forge.pull_request import REPOSITORY_PATTERN

PUBLIC_API = "https://api.github.com"

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Needs(NamedTuple):
    """The permissions that the gate's job needs, as a workflow writes them.

    A missing one is told as what the whole of the gate's work asks for, not this request alone.
    """

    pulls: str = "pull-requests: write"
    checks: str = "checks: write"


WRITES = Needs()
"""What a job needs that publishes on a pull request."""


class GitHubAccess(Value):
    """A repository (`owner/name`) and the token for it.

    `api_url` is GITHUB_API_URL: `https://api.github.com`, `https://HOST/api/v3` on GitHub
    Enterprise Server, `https://api.SUBDOMAIN.ghe.com`. Only https, so that nobody on the way reads
    the token; http is allowed to this machine. `ca_file` holds the authorities to trust, in PEM;
    empty for those that the HTTP library knows.
    """

    repository: str = Field(pattern=f"^{REPOSITORY_PATTERN}$")
    token: SecretStr = Field(min_length=1)
    api_url: str = PUBLIC_API
    ca_file: str = ""

    @model_validator(mode="after")
    def _a_url_that_can_be_used(self) -> Self:
        if {".", ".."} & set(self.repository.split("/")):
            raise ValueError("repository is not OWNER/NAME")
        parts = urlsplit(self.api_url)
        if not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("api_url is not the base URL of an API")
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise ValueError("api_url must begin with https://")
        if not re.fullmatch(r"[\x21-\x7e]+", self.token.get_secret_value()):
            raise ValueError("the token holds characters that no HTTP header can carry")
        return self
