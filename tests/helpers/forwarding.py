"""A container with a provider: another network, into which an engine forwards a port of this one."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.helpers.isolation import open_python

HERE, THERE = "10.9.9.1", ("10.9.9.2", "10.9.9.3")
"""The address of this machine that leads into the container, and the container's own."""

_PROGRAM = """\
import os, socket, struct, subprocess, sys, time
def attr(kind, data): return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)
def nested(kind, *parts): return attr(kind | 0x8000, b"".join(parts))
def text(kind, said): return attr(kind, said.encode() + b"\\0")
def number(kind, value): return attr(kind, struct.pack(">I", value))
def expression(name, *parts): return nested(1, text(1, name), nested(2, *parts))
def message(kind, flags, group, body=b""):
    whole = struct.pack("=BBH", 2 * (group == 0), 0, socket.htons(group)) + body
    return struct.pack("=IHHII", 16 + len(whole), kind, 1 | flags, 1, 0) + whole
def forward(port, to):  # nft: tcp dport PORT dnat to TO, in a nat chain of the output hook
    table = text(1, "engine")
    chain = table + text(3, "out") + nested(4, number(1, 3), number(2, 0xFFFFFF9C)) + text(7, "nat")
    rule = table + text(2, "out") + nested(4,
        expression("payload", number(1, 1), number(2, 2), number(3, 2), number(4, 2)),
        expression("cmp", number(1, 1), number(2, 0), nested(3, attr(1, struct.pack(">H", port)))),
        expression("immediate", number(1, 1), nested(2, attr(1, socket.inet_aton(to)))),
        expression("nat", number(1, 1), number(2, 2), number(3, 1), number(4, 1)))
    batch = message(0x10, 0, 10) + message(0xA00, 0x400, 0, table)
    batch += message(0xA03, 0x400, 0, chain) + message(0xA06, 0xC00, 0, rule) + message(0x11, 0, 10)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as link:
        link.sendto(batch, (0, 0))
port, program = int(sys.argv[1]), sys.argv[2]
container = subprocess.Popen(["unshare", "--net", {python!r}, "-I", "-S", program])
while os.readlink(f"/proc/{{container.pid}}/ns/net") == os.readlink("/proc/self/ns/net"): time.sleep(0.02)
def ip(line): subprocess.run(["ip", *line.split()], check=True)
ip("link set lo up")
ip(f"link add one type veth peer name two netns {{container.pid}}")
ip("addr add {here}/24 dev one")
ip("link set one up")
for line in ("link set lo up", "addr add {there[0]}/24 dev two", "addr add {there[1]}/24 dev two", "link set two up"):
    subprocess.run(["nsenter", "-t", str(container.pid), "-n", "ip", *line.split()], check=True)
forward(port, "{there[0]}")
try:
    sys.exit(subprocess.call(sys.argv[3:]))
finally:
    container.kill()
"""


def beside_container(program: Path, port: int) -> list[str]:
    """The words that run others where `port` leads to that of a `program` in a container."""
    text = _PROGRAM.format(here=HERE, there=THERE, python=open_python())
    return [sys.executable, "-c", _IN_A_NETWORK, text, str(port), str(program)]


_IN_A_NETWORK = "import os, sys; os.execvp('unshare', ['unshare', '--net', sys.executable, '-c', *sys.argv[1:]])"
