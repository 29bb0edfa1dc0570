"""Posts messages to addresses that are secrets, and to nowhere else.

An address may have been mistyped, and a name in it may be another's: a cloud's metadata, a service
behind the firewall. So what a name means is looked at first, and the connection is made to that
very address. Nobody is followed to another place, and of an answer nothing but its status is read.
"""

from __future__ import annotations

import base64
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

SECONDS = 10.0
"""How long all of them are waited for."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NAT64 = ip_network("64:ff9b::/96")


class Webhook(NamedTuple):
    """A body of JSON for an address. `private` says that it may be one of a private network."""

    url: str
    body: bytes
    private: bool = False


class NotPostedError(Exception):
    """It was not taken; the text is the end of a sentence, and holds nothing of the address."""


def post_all(
    hooks: Sequence[Webhook],
    environ: Mapping[str, str],
    ca_file: str = "",
    seconds: float = SECONDS,
) -> list[str]:
    """Post to all of them side by side; return why each did not take it, empty where it did.

    `environ` names a forward proxy, `ca_file` authorities to trust besides the machine's. Whoever
    has not answered after so many `seconds` is not waited for.
    """
    silent = f"it did not answer within {seconds:g} s"
    why = [silent] * len(hooks)

    def run(at: int, hook: Webhook) -> None:
        try:
            _post(hook, environ, ca_file, seconds)
            why[at] = ""
        except NotPostedError as error:
            why[at] = str(error)
        except TimeoutError:
            why[at] = silent
        except (OSError, HTTPException, ValueError) as error:
            why[at] = f"it cannot be reached ({type(error).__name__})"

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(hooks)]
    for one in threads:
        one.start()
    until = time.monotonic() + seconds
    for one in threads:
        one.join(max(0.0, until - time.monotonic()))
    return list(why)


def _post(hook: Webhook, environ: Mapping[str, str], ca_file: str, seconds: float) -> None:
    parts = _read(hook.url)
    connection = _connection(parts, hook, environ, ca_file, seconds)
    path = parts.path or "/"
    headers = {"Content-Type": "application/json", "User-Agent": "gateval", "Connection": "close"}
    try:
        target = f"{path}?{parts.query}" if parts.query else path
        connection.request("POST", target, hook.body, {**headers, "Host": parts.netloc})
        status = connection.getresponse().status
    finally:
        connection.close()
    if 300 <= status < 400:
        raise NotPostedError(f"it leads elsewhere ({status}), and nobody is followed there")
    if not 200 <= status < 300:
        raise NotPostedError(f"it answered {status}")


def _read(url: str) -> SplitResult:
    """Return the parts of an address. Raises `NotPostedError` for one that nothing is posted to."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        raise NotPostedError("it is no URL") from None
    host = (parts.hostname or "").lower()
    if not host or not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        raise NotPostedError("it is no URL")
    if parts.username is not None or parts.password is not None:
        raise NotPostedError("it holds a user or a password")
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        raise NotPostedError("it does not begin with https")
    return parts


def _connection(
    parts: SplitResult, hook: Webhook, environ: Mapping[str, str], ca_file: str, seconds: float
) -> HTTPConnection:
    host = (parts.hostname or "").lower()
    if parts.scheme == "http":
        address = _allowed(host, parts.port or 80, private=False)
        return HTTPConnection(address, parts.port or 80, timeout=seconds)
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    port = parts.port or 443
    proxy = _proxy(host, environ)
    if proxy is None:
        address = _allowed(host, port, private=hook.private)
        return _Pinned(host, port, address, context, seconds)
    if _is_address(host):
        _allowed(host, port, private=hook.private)
    through = HTTPSConnection(
        proxy.hostname or "", proxy.port or 80, timeout=seconds, context=context
    )
    through.set_tunnel(host, port, _login(proxy))
    return through


class _Pinned(HTTPSConnection):
    """Connects to one address, whatever its host's name means by then."""

    def __init__(
        self, host: str, port: int, address: str, context: ssl.SSLContext, seconds: float
    ) -> None:
        super().__init__(host, port, timeout=seconds, context=context)
        self._address = address
        self._trust = context

    def connect(self) -> None:
        """See http.client."""
        made = socket.create_connection((self._address, self.port), self.timeout)
        self.sock = self._trust.wrap_socket(made, server_hostname=self.host)


def _proxy(host: str, environ: Mapping[str, str]) -> SplitResult | None:
    """Return the forward proxy, which then says what names mean; None where there is none."""
    found = environ.get("https_proxy") or environ.get("HTTPS_PROXY") or ""
    no = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if not found or host in _LOOPBACK or proxy_bypass_environment(host, {"no": no}):
        return None
    if not found.startswith("http://"):
        raise NotPostedError("the proxy before it is none that speaks http")
    return urlsplit(found)


def _login(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    plain = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(plain).decode()}"}


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _allowed(host: str, port: int, *, private: bool) -> str:
    """Return the first address of a host, if all may be posted to. Raises `NotPostedError`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotPostedError("its name is not known") from None
    addresses = [str(one[4][0]) for one in found]
    for one in addresses:
        if wrong := _wrong(
            ip_address(one.partition("%")[0]), here=host in _LOOPBACK, private=private
        ):
            raise NotPostedError(wrong)
    return addresses[0]


def _wrong(address: IPv4Address | IPv6Address, *, here: bool, private: bool) -> str:
    """Return why nothing is posted to an address; empty where it may be."""
    within = _within(address)
    if within is not None:
        return _wrong(within, here=here, private=private)
    if address.is_loopback:
        return "" if here else "its name means this machine"
    never = (
        address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
    )
    if never or here:
        return "its name means an address that nobody has who takes messages"
    if not address.is_global and not private:
        return "it is in a private network, and the policy does not say `privateNetwork: true`"
    return ""


def _within(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to, if it is such a one."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
