"""The files through which a step speaks to the GitHub Actions runner.

One file as an artifact of this job, by the service that actions/upload-artifact uses.

An artifact of version 7 may be a single file as it is, so that a browser shows it; `archive: false`
does the same there. GitHub Enterprise Server has no such service.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import os
import re
import secrets
import ssl
import time
import urllib.request
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

from gateval.domain.text import Safe
from gateval.errors import GatevalError
from gateval.safe.workflow_commands import file_entry

SUMMARY_LIMIT = 1024 * 1024
"""Bytes of a step's summary; the runner drops a larger one as a whole."""

_VARIABLES = {"output": "GITHUB_OUTPUT", "state": "GITHUB_STATE", "summary": "GITHUB_STEP_SUMMARY"}


class RunnerFiles:
    """The runner's files, as the environment names them. Outside of a runner all writing is void.

    Raises OSError when a file that is named cannot be written.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._paths = {
            name: Path(path)
            for name, variable in _VARIABLES.items()
            if (path := environ.get(variable))
        }

    def output(self, name: str, value: str) -> None:
        """Set an output of the step."""
        self._append("output", file_entry(name, value, _token(value)))

    def state(self, name: str, value: str) -> None:
        """Keep a value for the step's post entry, which finds it as `STATE_NAME`."""
        self._append("state", file_entry(name, value, _token(value)))

    def summary(self, markdown: Safe) -> bool:
        """Add to the step's summary. False, and nothing is written, if it would be too large."""
        path = self._paths.get("summary")
        if path is None:
            return True
        size = path.stat().st_size if path.exists() else 0
        if size + len(markdown.encode()) + 2 > SUMMARY_LIMIT:
            return False
        self._append("summary", f"{markdown.rstrip()}\n\n")
        return True

    def _append(self, name: str, text: str) -> None:
        path = self._paths.get(name)
        if path is None:
            return
        # One write to a file opened for appending: a step that also writes does not cut it up.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            data = text.encode()
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)


def _token(value: str) -> str:
    """Return a random delimiter that does not occur in the value."""
    while (token := f"gateval_{secrets.token_hex(16)}") in value:
        pass
    return token


RUNTIME_TOKEN = "ACTIONS_RUNTIME_TOKEN"  # noqa: S105 - the name of a variable
RESULTS_URL = "ACTIONS_RESULTS_URL"

_SERVICE = "twirp/github.actions.results.api.v1.ArtifactService"
_SECONDS, _TRIES, _ANSWER = 30, 3, 64 * 1024
_HTML = "text/html"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class NoArtifact(GatevalError):
    """A file could not be uploaded; the sentence says why."""


def upload_page(environ: Mapping[str, str], name: str, page: bytes, ca_file: str = "") -> int:
    """Upload a page under this name, which ends with `.html`; return the artifact's id.

    Raises `NoArtifact`.
    """
    return _upload(environ, name, page, {"version": 7, "mime_type": _HTML}, ca_file)


def upload_file(
    environ: Mapping[str, str], name: str, file: str, content: bytes, ca_file: str = ""
) -> int:
    """Upload an artifact of this name that holds one file; return its id. Raises `NoArtifact`."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as files:
        files.writestr(file, content)
    return _upload(environ, name, archive.getvalue(), {"version": 4}, ca_file)


def _upload(
    environ: Mapping[str, str], name: str, content: bytes, kind: Mapping[str, object], ca_file: str
) -> int:
    """Upload bytes as an artifact of this kind; without a media type they are an archive."""
    token, service = environ.get(RUNTIME_TOKEN, ""), environ.get(RESULTS_URL, "")
    if not token or not service:
        raise NoArtifact("This runner offers no service for artifacts of single files.")
    parts = urlsplit(service)
    job = _job(token)
    what = "the report" if "mime_type" in kind else f"the artifact {name}"
    sender = _Sender(f"{parts.scheme}://{parts.netloc}/{_SERVICE}", token, ca_file, what)
    named = {**job, "name": name}
    made = sender.call("CreateArtifact", {**named, **kind})
    place = made.get("signed_upload_url") or made.get("signedUploadUrl")
    if not made.get("ok") or not isinstance(place, str):
        raise NoArtifact(f"GitHub's service for artifacts did not take {what}.")
    sender.put(place, content, str(kind.get("mime_type", "application/zip")))
    digest = f"sha256:{sha256(content).hexdigest()}"
    done = sender.call("FinalizeArtifact", {**named, "size": str(len(content)), "hash": digest})
    number = str(done.get("artifact_id") or done.get("artifactId") or "")
    if not done.get("ok") or not re.fullmatch(r"[0-9]{1,19}", number):
        raise NoArtifact(f"GitHub's service for artifacts did not keep {what}.")
    return int(number)


def _job(token: str) -> dict[str, str]:
    """Return what names this job to the service, from its token's scopes."""
    try:
        payload = token.split(".")[1]
        scopes = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["scp"]
        (run, job), *_ = (
            one.split(":")[1:] for one in scopes.split() if one.startswith("Actions.Results:")
        )
    except (ValueError, LookupError, TypeError, AttributeError, binascii.Error):
        raise NoArtifact("The job's token names no place for artifacts.") from None
    return {"workflow_run_backend_id": run, "workflow_job_run_backend_id": job}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Whoever is redirected to would be sent the token of the job."""

    def redirect_request(self, *_: object) -> None:
        """Follow none: the answer counts as it is."""


class _Sender:
    """Sends `what` it is called to the service, and to where it says."""

    def __init__(self, service: str, token: str, ca_file: str, what: str) -> None:
        self._service, self._what = service, what
        self._token = token
        trust = ssl.create_default_context(cafile=ca_file or None)
        https = urllib.request.HTTPSHandler(context=trust)
        self._open = urllib.request.build_opener(https, _NoRedirect).open

    def call(self, method: str, asked: Mapping[str, object]) -> Mapping[str, object]:
        """Call a method of the service; return its answer."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = json.dumps(asked).encode()
        answer = self._send("POST", f"{self._service}/{method}", data, headers)
        try:
            said = json.loads(answer)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise NoArtifact("GitHub's service for artifacts gave an answer that is none.")
        return said

    def put(self, place: str, content: bytes, media: str) -> None:
        """Store the bytes where the service says."""
        headers = {"x-ms-blob-type": "BlockBlob", "x-ms-blob-content-type": media}
        self._send("PUT", place, content, {**headers, "Content-Type": media})

    def _send(self, method: str, url: str, data: bytes, headers: Mapping[str, str]) -> bytes:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise NoArtifact("The address for artifacts does not begin with https.")
        for left in reversed(range(_TRIES)):
            request = urllib.request.Request(  # noqa: S310 - https, see above
                url, data=data, headers=dict(headers), method=method
            )
            try:
                with self._open(request, timeout=_SECONDS) as answer:
                    return bytes(answer.read(_ANSWER))
            except HTTPError as error:
                why = f"it answered {error.code}"
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, HTTPException, ValueError) as error:
                why = f"{type(error).__name__}"
            if left:
                time.sleep(_TRIES - left)  # uploads come last, or in a thread of their own
        raise NoArtifact(f"{parts.hostname} did not take {self._what}: {why}.")
