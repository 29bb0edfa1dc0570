"""Reads runs of workflows and their artifacts. The store's address comes from GitHub, the token
stays with GitHub.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from typing import Any
from urllib.parse import urlsplit

from gateval.adapters.github import shapes
from gateval.adapters.github.shapes import understood
from gateval.adapters.github.transport import ApiRequest, GitHubTransport
from gateval.domain.forge.workflow_run import Artifact, WorkflowRun
from gateval.errors import ForgeRejected, ForgeUnavailable

NEEDS = "actions: read"
_SECONDS = 20
_ZIP_SPARE = 100_000
"""Bytes of an archive beyond those of its one file."""


class GitHubArtifacts:
    """Fulfils `ports.forge.WorkflowRuns` with the requests of a `GitHubTransport`."""

    def __init__(self, api: GitHubTransport) -> None:
        self._api = api

    def workflow_run(self, number: int) -> WorkflowRun:
        """A run by its id."""
        what = f"show the workflow run {number}"
        content = self._api.ask(ApiRequest("GET", f"/actions/runs/{number}", what, NEEDS))
        with understood(what):
            return shapes.workflow_run(content)

    def artifacts(self, run: int, name: str) -> tuple[Artifact, ...]:
        """What a run uploaded under this name."""
        what = f"list the artifacts of run {run}"
        path = f"/actions/runs/{run}/artifacts"
        content = self._api.ask(ApiRequest("GET", path, what, NEEDS, query={"name": name}))
        with understood(what):
            found = [shapes.artifact(one) for one in content["artifacts"]]
        return tuple(one for one in found if one.name == name)

    def artifact_file(self, artifact: Artifact, name: str, *, limit: int) -> bytes | None:
        """The file of this name in an artifact."""
        if artifact.expired or artifact.size > limit + _ZIP_SPARE:
            return None
        what = f"give the artifact {artifact.name}"
        path = f"/actions/artifacts/{artifact.number}/zip"
        place = self._api.redirect(ApiRequest("GET", path, what, NEEDS))
        archive = downloaded(place, what, limit + _ZIP_SPARE, self._api.authorities)
        if artifact.digest not in {"", hashlib.sha256(archive).hexdigest()}:
            raise ForgeUnavailable(f"What GitHub's store gave is damaged: no {artifact.name}.")
        return _member(archive, name, limit)


def downloaded(place: str, what: str, limit: int, authorities: str) -> bytes:
    """Return what is at an address that GitHub named, at most `limit` bytes, without any token.

    `authorities` is a file of certificates, empty for those that the HTTP library knows. Raises
    `ForgeRejected` for one that is not https, but for this machine, and `ForgeUnavailable`.
    """
    import requests  # PyGithub's HTTP library

    parts = urlsplit(place)
    loopback = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise ForgeRejected(f"GitHub named a place without encryption and did not {what}.")
    try:
        with requests.get(
            place,
            timeout=_SECONDS,
            stream=True,
            verify=authorities or True,
            allow_redirects=False,
            auth=_nobody,
        ) as answer:
            if answer.status_code != requests.codes.ok:
                raise ForgeUnavailable(f"GitHub's store answered {answer.status_code}: no {what}.")
            content = answer.raw.read(limit + 1, decode_content=True)
    except (OSError, requests.RequestException) as error:
        raise ForgeUnavailable(f"GitHub's store did not {what} ({type(error).__name__}).") from None
    if len(content) > limit:
        raise ForgeRejected(f"It is larger than {limit:,} bytes, so GitHub did not {what}.")
    return bytes(content)


def _nobody(request: Any) -> Any:
    """Add no credentials, those of a .netrc included."""
    return request


def _member(archive: bytes, name: str, limit: int) -> bytes | None:
    """Return a file of a zip archive, of which no more than `limit` bytes are ever unpacked.

    None for whatever is wrong with the archive: zipfile has an exception of its own for each kind
    of damage, encryption and unknown compression.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files, files.open(name) as file:
            content = file.read(limit + 1)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, OSError, EOFError):
        return None
    return content if len(content) <= limit else None
