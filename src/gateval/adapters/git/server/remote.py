"""The repository on the server, and how git gets there: with a token that only that process sees.

The token travels in the environment of the git process (`GIT_CONFIG_COUNT`, git-config(1)), never
on a command line and never in a file; so `persist-credentials: false` is fine. Nothing that the
clone's own configuration says can lead it elsewhere: it is bound to the repository's URL.

What keeps git from a server is told by what it printed in the C locale. Both ways need it: the one
that fetches a clone's history, and that of the records.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateval.domain.setup.authorities import CA_VARIABLE

PASSED_ON = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
)
"""Variables that say how the network is reached; only a git that fetches gets them."""

_SETTINGS = (
    ("credential.helper", ""),  # neither a helper nor a prompt: this token or none
    ("core.alternateRefsCommand", ":"),  # the clone's configuration could name a program
    ("fetch.recurseSubmodules", "false"),
    ("fetch.unpackLimit", "1"),  # one pack, so that no folder of another owner appears in .git
    ("transfer.bundleURI", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("http.followRedirects", "initial"),
)

FETCH = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
"""Options of every fetch: objects are all that is added."""

CERTIFICATE = r"certificate|SSL CA cert|CAfile"
"""The server's certificate, or the file of CAs: no second try mends either."""

OUTAGE = (
    r"[Cc]ould not resolve|[Cc]onnection (?:was )?(?:refused|reset|timed out|closed)|early EOF"
    r"|SSL|TLS|[Ff]ailed to connect|unable to connect|[Tt]imed? ?out|[Tt]imeout"
    r"|Network is unreachable|No route to host|hung up|returned error: (?:5\d\d|429|408)"
    r"|RPC failed|[Ee]mpty reply|did not end within|too slow|transfer closed|HTTP/2 stream"
    r"|unexpected disconnect|bad line length|invalid server response|protocol error"
    r"|expected (?:flush|packfile|'\w+')|Could not read from remote repository|index-pack"
)
"""What may pass: no answer, a broken one, or one that says so."""


@dataclass(frozen=True)
class Remote:
    """A repository's URL (http or https) and the token for it, "" for none.

    `environ` is the environment of the gate, of which the way through the network is used.
    """

    url: str
    token: str = field(default="", repr=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    def variables(self) -> dict[str, str]:
        """Return the environment for a git process that speaks to this remote."""
        settings = [*_SETTINGS]
        if self.token:
            plain = f"x-access-token:{self.token}".encode()
            header = f"Authorization: Basic {base64.b64encode(plain).decode()}"
            key = f"http.{self.url}.extraHeader"
            settings += [(key, ""), (key, header)]  # the empty one drops what checkout left there
        return network_variables(self.environ) | {
            **as_variables(settings),
            "GIT_ALLOW_PROTOCOL": "http:https",
            "GIT_ASKPASS": "false",
            "SSH_ASKPASS": "false",
        }


def network_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the gate's environment says how git reaches the network, and whom it trusts.

    The gate's own file of authorities, if there is one, takes the place of all others.
    """
    passed_on = {name: environ[name] for name in PASSED_ON if name in environ}
    own = environ.get(CA_VARIABLE)
    return passed_on | {"GIT_SSL_CAINFO": own} if own else passed_on


def as_variables(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that give git these settings; they win over configuration files."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def is_outage(said: str) -> bool:
    """Whether another try may help."""
    return not re.search(CERTIFICATE, said) and bool(re.search(OUTAGE, said))


def is_certificate(said: str) -> bool:
    """Whether the server's certificate is what git does not accept."""
    return bool(re.search(CERTIFICATE, said))
