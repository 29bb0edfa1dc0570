"""Who is at the other end of a connection on this machine: the kernel's tables of sockets tell.

A candidate can listen where the gate expects a provider, a judge or another candidate's server. So
each connection to this machine is looked at after it is made and before its first byte: by
sock_diag(7) for the very pair of sockets, by proc(5) where that cannot be asked. It may go on if
nobody listens on the port, and nobody has accepted it, who is not expected there. Where nothing of
ours listens at all, an engine forwards the port to a container, which no candidate can do.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Self

from gateval.gateway.processes import (
    Holders,
    is_below,
    is_candidate,
    may_be_hidden,
    may_be_unseen,
    may_have_escaped,
)
from gateval.ports.model_calls import Owner

ACCEPT_SECONDS = 1.0
"""How long a connection is waited for to be accepted. One that waits longer is in the queue of a
socket that listened when it was made; all of these have been looked at, so it may go on."""

SIGN_SECONDS = 5.0
"""How long somebody who is in no table here is waited for to answer from elsewhere."""

_ASKED_AFTER = 1
_KEEPALIVE = (
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
    (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPIDLE", socket.TCP_KEEPINTVL)),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
)
_LAST_ANSWER_AT = 56
"""`tcpi_last_ack_recv` of `struct tcp_info`: milliseconds since it last acknowledged anything."""

_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.02

_SOCK_DIAG, _BY_FAMILY, _REQUEST, _DUMP = 4, 20, 1, 0x300
_ERROR, _DONE = 2, 3
_LISTEN = 10
_ALL_STATES = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_PORTS = struct.Struct("!HH")
_DEVICE_NO_COOKIE = struct.Struct("=III")
_OWNER = struct.Struct("=II")
_OWNER_AT, _MESSAGE = 64, 72
"""`struct inet_diag_msg` of `include/uapi/linux/inet_diag.h`: the user id, the inode, its size."""

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


_ROUTE = struct.Struct("=BB5xB4x")
"""struct rtmsg: the family, the bits of the address, the type of the route."""

_ATTRIBUTE = struct.Struct("=HH")
_NEW_ROUTE, _GET_ROUTE = 24, 26
_HERE = {2, 4}
"""RTN_LOCAL and RTN_ANYCAST."""

_NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES}
"""What the kernel says of an address to which nothing leads, or no route may."""

_NOT_HERE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EINVAL, errno.ENODEV}
"""Why an address cannot be bound that is another machine's."""

Address = IPv4Address | IPv6Address


class BoundSocket(NamedTuple):
    """A socket of this machine: its user's id, and its inode, 0 while nobody has accepted it."""

    user: int
    inode: int


UNTOLD = BoundSocket(-1, 0)
"""What stands for a socket on a system that has no tables to look at."""

Allowed = Callable[[BoundSocket], bool]
"""Says whether the holder of a socket is one whom the gate means to speak to."""


class NotTheirs(Exception):
    """Somebody else is at the other end. The text is a clause to be put after who was meant."""


class ResetPeer(NotTheirs):
    """Whoever took the connection has reset it before anybody could tell who that is: one of
    several who listen there may have ended. Another connection tells.
    """


class Tables:
    """The kernel's tables of TCP sockets. `diag` False reads /proc alone."""

    def __init__(self, *, diag: bool = True) -> None:
        self._diag = diag

    def listening(self, port: int, address: Address | None = None) -> list[BoundSocket]:
        """Return the sockets that may be given a connection to a port of `address`, None of any.
        Raises `OSError` where this system has no such tables.
        """
        with suppress(OSError):
            families = (socket.AF_INET, socket.AF_INET6)
            ident = _ident(port, 0)
            found = [row for one in families for row in self._ask(one, ident, dump=True)]
            return _meant(found, port, address)
        return _meant(_rows(port, 0), port, address)

    def other_end(self, ours: socket.socket) -> BoundSocket | None:
        """Return the socket that `ours` is connected to; None if it is not in our tables."""
        here, there = _place(ours.getsockname()), _place(ours.getpeername())
        with suppress(OSError):
            family = socket.AF_INET if there[0].version == 4 else socket.AF_INET6
            for device in chain((0,), _devices()):  # one that is bound to one is found by it alone
                ident = _ident(there[1], here[1], there[0], here[0], device)
                for row in self._ask(family, ident):
                    if row.state != _LISTEN:
                        return row.held
            return None
        rows = _rows(there[1], here[1])
        found = (row for row in rows if row.local == there and row.remote == here)
        return next((row.held for row in found), None)

    def _ask(self, family: int, ident: bytes, *, dump: bool = False) -> Iterator[_Row]:
        """Give what matches, if anything. Raises `OSError` where sock_diag cannot be asked."""
        if not self._diag or not sys.platform.startswith("linux"):
            raise OSError("no sock_diag")
        states = 1 << _LISTEN if dump else _ALL_STATES
        body = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, states) + ident
        flags = _REQUEST | (_DUMP if dump else 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as link:
            link.settimeout(1)
            link.send(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, flags, 1, 0) + body)
            while True:
                for kind, payload in _messages(link.recv(65_536)):
                    missing = kind == _ERROR and payload[:4] == struct.pack("=i", -errno.ENOENT)
                    if kind == _DONE or (missing and not dump):
                        return
                    if kind != _BY_FAMILY or len(payload) < _MESSAGE:
                        raise OSError("sock_diag refuses")
                    yield _diag_row(payload)
                    if not dump:
                        return


class Peers:
    """Looks at the connections of one run."""

    def __init__(self, tables: Tables | None = None) -> None:
        self._tables = tables or Tables()

    async def check(self, ours: socket.socket, allowed: Allowed) -> None:
        """Return if a fresh connection leads to whom it may. Raises `NotTheirs`, of one that is
        reset meanwhile `ResetPeer`. What leads off this machine is not looked at.
        """
        there = _place(ours.getpeername())
        if not is_own(there[0]):
            return
        began, pause = time.monotonic(), _FIRST_PAUSE
        with SignOfLife(ours) as sign:
            while True:
                signed = sign.given()  # whoever gave it is in the tables by now, if he is here
                listening, held = self._both_ends(ours, there)
                accepted = [held] if held and held.inode else []
                if not all(map(allowed, [*listening, *accepted])):
                    raise _taken(there[1])
                if accepted or listening == [UNTOLD] or (held is None and signed):
                    return
                waits = ACCEPT_SECONDS if held else SIGN_SECONDS
                if time.monotonic() > began + waits:
                    if held is None or not listening:  # taken from the queue of one who is gone
                        raise _taken(there[1])
                    return
                if held is None:
                    sign.ask()
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _both_ends(
        self, ours: socket.socket, there: _Place
    ) -> tuple[list[BoundSocket], BoundSocket | None]:
        """Return those that listen, and the other end. Listeners are read first: whoever has
        accepted it and listens no more, has it by then.
        """
        try:
            return self._tables.listening(there[1], there[0]), self._tables.other_end(ours)
        except OSError:
            with suppress(OSError):
                ours.getpeername()
                return [UNTOLD], None
            raise _taken(there[1], ResetPeer) from None  # the far end knows nothing of it


class SignOfLife:
    """Whether the far end of a connection holds it, which only a whole socket can say.

    One that listens can answer a call by a SYN cookie and remember nothing of it: no table has the
    connection then, as if an engine forwarded it, and whoever listens there when the first byte
    comes is given it. A cookie does not answer when it is asked (TCP keepalive), a socket does.
    """

    def __init__(self, ours: socket.socket) -> None:
        self._ours = ours
        self._asked = 0.0
        self._before: list[tuple[int, int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            for level, name, value in self._before:
                self._ours.setsockopt(level, name, value)

    def ask(self) -> None:
        """Have the kernel ask it, after a second, for it can do so no sooner."""
        if self._asked:
            return
        self._asked = time.monotonic()
        for level, name in _KEEPALIVE:
            with suppress(OSError):
                self._before.append((level, name, self._ours.getsockopt(level, name)))
                self._ours.setsockopt(level, name, 1)

    def given(self) -> bool:
        """Whether it has answered since."""
        if not self._asked:
            return False
        with suppress(OSError):
            told = self._ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_ANSWER_AT + 4)
            ago = int.from_bytes(told[_LAST_ANSWER_AT:], sys.byteorder) / 1000
            return time.monotonic() - ago > self._asked + _ASKED_AFTER / 2
        return False


def _taken(port: int, kind: type[NotTheirs] = NotTheirs) -> NotTheirs:
    return kind(f"is not who listens on port {port} of this machine")


def nobody_tells(untold: Callable[[], bool]) -> Allowed:
    """Allow everybody if `untold` does, which is asked each time: here nothing tells who answers.
    Raises `NotTheirs` otherwise.
    """

    def allowed(_: BoundSocket) -> bool:
        if not untold():
            hint = "policy.loopbackUpstreams says what is done then"
            raise NotTheirs(f"is on this machine, where nothing tells who answers ({hint})")
        return True

    return allowed


def no_candidate(
    users: tuple[int, int] | None, untold: Callable[[], bool], *, trusted: bool = False
) -> Allowed:
    """Allow everybody but candidates: those of a range of users, else what this process started.

    Where candidates run as the gate's user, the holder of a socket of that user is looked for. What
    another gate of this user started is a candidate, too. One
    that cannot be found, or whose descent nobody can tell, is a candidate's. Only where it may live
    in another namespace of processes, and where there are no tables, `untold` decides; and of one
    that may be held by a process that hides and is no candidate, or by one that is held as they
    are, `trusted`.
    """
    if_untold, if_hidden = nobody_tells(untold), nobody_tells(lambda: trusted)
    if users is not None:
        first, last = users
        return lambda held: if_untold(held) if held == UNTOLD else not first <= held.user <= last
    mine, gate, holders = os.geteuid(), os.getpid(), Holders()

    def allowed(held: BoundSocket) -> bool:
        if held == UNTOLD:
            return if_untold(held)
        if held.user != mine:
            return True
        found = holders.of(held.inode)
        for pid in found:
            if pid != gate and not holders.trusts(pid):
                if is_candidate(pid, gate):
                    return False
                if may_have_escaped(pid, gate) and not if_hidden(held):
                    return False
                holders.trust(pid, held.inode)
        if found:
            return True
        return if_untold(held) if may_be_unseen(gate) else may_be_hidden(gate) and if_hidden(held)

    return allowed


def owned_by(owner: Owner) -> Allowed:
    """Allow an instance's own user alone; where it runs as the gate's, what its guard started.
    Another user's is no candidate then: an engine forwards the port to a container.
    """
    if owner.user is not None:
        return lambda held: held.user == owner.user
    mine, holders = os.geteuid(), Holders()

    def allowed(held: BoundSocket) -> bool:
        if held.user != mine:
            return True
        found = holders.of(held.inode)
        for pid in found:
            if not holders.trusts(pid):
                if not is_below(pid, owner.guard):
                    return False
                holders.trust(pid, held.inode)
        return bool(found)

    return allowed


def is_own(address: Address) -> bool:
    """Whether an address is this machine's: loopback, or one that the kernel delivers here. Where
    the kernel's routes cannot be asked, one that can be bound here.
    """
    if address.is_loopback or address.is_unspecified:
        return True
    try:
        return _route_type(address) in _HERE
    except OSError:
        pass
    if address.version == 4:
        return _can_be_bound(socket.AF_INET, (str(address), 0))
    try:
        devices = list(_devices()) if address.is_link_local else [0]
    except OSError:  # then nobody can tell, and it may be
        return True
    return any(_can_be_bound(socket.AF_INET6, (str(address), 0, 0, one)) for one in devices)


def _route_type(address: Address) -> int:
    """Return how the kernel routes what is sent to an address, see rtnetlink(7); 0 for not at all.
    Raises `OSError` where it cannot be asked.
    """
    if not sys.platform.startswith("linux"):
        raise OSError("no rtnetlink")
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    packed = address.packed
    body = _ROUTE.pack(family, len(packed) * 8, 0) + _ATTRIBUTE.pack(4 + len(packed), 1) + packed
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, socket.NETLINK_ROUTE) as link:
        link.settimeout(1)
        link.send(_HEADER.pack(_HEADER.size + len(body), _GET_ROUTE, _REQUEST, 1, 0) + body)
        for kind, payload in _messages(link.recv(65_536)):
            if kind == _NEW_ROUTE and len(payload) >= _ROUTE.size:
                return int(_ROUTE.unpack_from(payload)[2])
            if (
                kind == _ERROR
                and -int.from_bytes(payload[:4], sys.byteorder, signed=True) in _NO_WAY
            ):
                return 0
    raise OSError("rtnetlink refuses")


def _can_be_bound(family: int, place: tuple[str, int] | tuple[str, int, int, int]) -> bool:
    """Whether an address is here. Where somebody has used up all ports or files, it may be."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(place)
    except OSError as error:
        return error.errno not in _NOT_HERE
    return True


def _devices() -> Iterator[int]:
    """Give the devices of this machine, which are listed once somebody asks for the first."""
    for index, _ in socket.if_nameindex():
        yield index


def plain_address(text: str) -> Address | None:
    """Return an address, an IPv4 one in IPv6's form as the IPv4 one; None if it is none."""
    try:
        return _address(ip_address(text.partition("%")[0]).packed)
    except ValueError:
        return None


_Place = tuple[Address, int]


def _place(name: tuple[str, int] | tuple[str, int, int, int]) -> _Place:
    address = plain_address(name[0])
    if address is None:
        raise NotTheirs("is not on the internet")
    return address, name[1]


def _ident(
    source_port: int,
    target_port: int,
    source: Address | None = None,
    target: Address | None = None,
    device: int = 0,
) -> bytes:
    """`struct inet_diag_sockid`."""
    packed = (one.packed.ljust(16, b"\0") if one else bytes(16) for one in (source, target))
    device_no_cookie = _DEVICE_NO_COOKIE.pack(device, _ALL_STATES, _ALL_STATES)
    return _PORTS.pack(source_port, target_port) + b"".join(packed) + device_no_cookie


def _meant(rows: Iterable[_Row], port: int, address: Address | None) -> list[BoundSocket]:
    return [
        row.held
        for row in rows
        if row.state == _LISTEN
        and row.local[1] == port
        and (address is None or row.local[0] == address or row.local[0].is_unspecified)
    ]


def _diag_row(payload: bytes) -> _Row:
    """Read `struct inet_diag_msg`."""
    ports = _PORTS.unpack_from(payload, 4)
    size = 4 if payload[0] == socket.AF_INET else 16
    local, remote = (_address(payload[at : at + size]) for at in (8, 24))
    held = BoundSocket(*_OWNER.unpack_from(payload, _OWNER_AT))
    return _Row((local, ports[0]), (remote, ports[1]), payload[1], held)


def _address(packed: bytes) -> Address:
    address = ip_address(packed)
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        if length < _HEADER.size:
            return
        yield kind, data[_HEADER.size : length]
        data = data[(length + 3) & ~3 :]


class _Row(NamedTuple):
    """A TCP socket of this machine."""

    local: _Place
    remote: _Place
    state: int
    held: BoundSocket


def _rows(local: int, remote: int) -> Iterator[_Row]:
    """Give the sockets with these ports; 0 is the other end's of those that listen. Of thousands of
    lines only theirs are taken apart.
    """
    wanted = re.compile(
        rb"^ *\d+: [0-9A-F]+:%04X [0-9A-F]+:%04X .*" % (local, remote), re.MULTILINE
    )
    for table in _TABLES:
        try:
            lines = wanted.findall(table.read_bytes())
        except FileNotFoundError:
            if table == _TABLES[0]:  # the other one is missing where there is no IPv6
                raise
            continue
        for line in lines:
            cells = line.decode().split()
            places = _row_place(cells[1]), _row_place(cells[2])
            yield _Row(*places, int(cells[3], 16), BoundSocket(int(cells[7]), int(cells[9])))


def _row_place(text: str) -> _Place:
    """Read `0100007F:1F90`: words of four bytes in the machine's order, then the port."""
    words, _, port = text.partition(":")
    packed = b"".join(
        int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8)
    )
    return _address(packed), int(port, 16)
