"""Where records go: any remote that git can push to, its secret handed over by environment alone.

A remote's URL, with or without a password in it, and the token are never an argument (everybody on
the machine can read those) and stand in no configuration file.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gateval.adapters.git.server.remote import as_variables, network_variables
from gateval.domain.repository.paths import show_path
from gateval.domain.text.secrets import secret_forms
from gateval.errors import UsageError

REMOTE = "records"
"""What the remote is called inside our private repository."""

_SSH = ("SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT")
"""Variables of the gate that say which keys ssh may use."""

_PROTOCOLS = "file:git:http:https:ssh"
"""Not `ext`, which runs any program."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<user>[^/]*)@)?(?P<rest>.*)")
_SCP = re.compile(r"[^/:]+:(?!//)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Destination:
    """A repository elsewhere. `url` holds no secret; `basic` is `user:password`, or empty.

    `username` is for the user's own credential helper, when the URL names one without a password.
    """

    url: str
    basic: str = field(default="", repr=False)
    username: str = field(default="", repr=False)


def destination_at(url: str, *, token: str = "", root: Path | None = None) -> Destination:
    """Return the remote at `url`, a URL or a path (relative ones count from `root`).

    `token` is one that the host takes as a password, as GitHub's do. It goes to https only, or to
    this machine. Raises `UsageError`; the message never shows what stands before an `@`.
    """
    if not url or url.startswith("-") or _CONTROL.search(url):
        raise UsageError("This cannot be the URL of a remote.", hint="Name a remote of git.")
    parts = _URL.fullmatch(url)
    if parts is None:
        place = url if root is None or _SCP.match(url) else str(root / url)
        return _without_token(Destination(place), token)
    scheme, user = parts["scheme"].lower(), parts["user"] or ""
    name, _, password = user.partition(":")
    if scheme not in {"http", "https"}:
        kept = f"{name}@" if name else ""
        return _without_token(Destination(f"{scheme}://{kept}{parts['rest']}"), token)
    bare = f"{scheme}://{parts['rest']}"
    if token:
        basic = f"x-access-token:{token}"
    elif password:
        basic = f"{unquote(name)}:{unquote(password)}"
    else:
        return Destination(bare, username=unquote(name))
    _refuse_open_road(bare, scheme)
    if _CONTROL.search(basic):
        raise UsageError("The token holds characters that no HTTP header can carry.")
    return Destination(bare, basic=basic)


def environment(destination: Destination, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what git's processes that speak to it get besides the clean environment."""
    settings = [(f"remote.{REMOTE}.url", destination.url)]
    if destination.basic:
        header = base64.b64encode(destination.basic.encode()).decode()
        settings += [
            # A redirect would take the header along to another host.
            ("http.followRedirects", "false"),
            ("credential.helper", ""),
            (f"http.{destination.url}.extraHeader", ""),
            (f"http.{destination.url}.extraHeader", f"Authorization: Basic {header}"),
        ]
    elif destination.username:
        settings.append(("credential.username", destination.username))
    passed_on = {name: environ[name] for name in _SSH if name in environ}
    return (
        passed_on
        | network_variables(environ)
        | as_variables(settings)
        | {"GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    )


def without_secrets(text: str, destination: Destination) -> str:
    """Return what git or the remote said without any secret we know, or that a URL could hold."""
    password = destination.basic.partition(":")[2]
    for form in secret_forms((password, destination.username)):
        text = text.replace(form, "***")
    return re.sub(r"(\w://)[^/\s'\"]*@", r"\1", text)


def _without_token(destination: Destination, token: str) -> Destination:
    if token:
        raise UsageError(
            f"A token cannot be used for {show_path(destination.url)}.",
            hint="Tokens go to https:// only; for ssh and paths leave the token out.",
        )
    return destination


def _refuse_open_road(url: str, scheme: str) -> None:
    if scheme == "http" and urlsplit(url).hostname not in _LOOPBACK:
        raise UsageError(
            f"{show_path(url)} is not encrypted, so the token is not sent there.",
            hint="Use https://.",
        )
