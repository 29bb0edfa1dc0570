"""A sealed command tells what it is told to nobody, even if it is a program of the candidate's."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from tests.e2e.sealed.test_sealed_words import HELD, shop_of
from tests.helpers.command import gateval
from tests.helpers.isolation import held_here
from tests.helpers.repo import Repo
from tests.helpers.sealed import AGENT, CONFIG, KEY, leaks

TELLS = """
import ctypes, json, os, resource, socket, sys
TCP, UDP = PORTS
said = sys.stdin.read()
done = []

def way(name, tell):
    try:
        tell()
        done.append(name)
    except OSError:
        pass

def tcp():
    socket.create_connection(("127.0.0.1", TCP), 3).sendall(said.encode())

def udp():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(said.encode(), ("127.0.0.1", UDP))

def file(folder):
    def write():
        with open(folder + "/gateval-told", "w") as told:
            told.write(said)
        os.unlink(folder + "/gateval-told")
    return write

way("tcp", tcp)
way("udp", udp)
way("unix", lambda: socket.socket(socket.AF_UNIX).bind("\\0gateval-told"))
for folder in ("/tmp", "/var/tmp", "/dev/shm"):
    way(folder, file(folder))
LIBC = ctypes.CDLL(None, use_errno=True)

def ipc(call, *arguments):
    def make():
        if getattr(LIBC, call)(*arguments) < 0:
            raise OSError(ctypes.get_errno(), call)
    return make

def limit():
    core = resource.RLIMIT_CORE
    resource.prlimit(os.getppid(), core, resource.prlimit(os.getppid(), core))

way("shared memory", ipc("shmget", 0x6A7E, 64, 0o1600))
way("semaphores", ipc("semget", 0x6A7E, 1, 0o1600))
way("messages", ipc("msgget", 0x6A7E, 0o1600))
way("named messages", ipc("mq_open", b"/gateval-told", 0o102, 0o600, None))
way("another's limits", limit)
way("another's niceness", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19))
way("another's processors", lambda: os.sched_setaffinity(os.getppid(), {0}))
way("own folder", file("."))
way("own temporary folder", file(os.environ["TMPDIR"]))
print(json.dumps(done))
"""

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: tells}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  playground: {}
  assertions: [ASKED]
"""

ASKED = """\
  assertions:
    - {type: commandResult, command: [python3, "{playground}/tells.py"], stdin: "Say ZANZIBAR", stdoutContains: own}
"""


def test_a_sealed_command_reaches_nobody(tmp_path: Path) -> None:
    held_here()
    stream, packets = socket.create_server(("127.0.0.1", 0)), socket.socket(type=socket.SOCK_DGRAM)
    packets.bind(("127.0.0.1", 0))
    with stream, packets:
        ports = (stream.getsockname()[1], packets.getsockname()[1])
        tells = TELLS.replace("PORTS", str(ports))
        program = (
            "import os\n"
            f"open(os.environ['GATEVAL_PLAYGROUND'] + '/tells.py', 'w').write({tells!r})\n"
            "print('Done.')\n"
        )
        before, _, rest = HELD.partition("  assertions:")
        held = before + ASKED + "---" + rest.partition("---")[2].replace("repsPerFixture: 2", "")
        held = held.replace("  judge: {model: openai/judge}\n", "").replace("  execution: {}\n", "")
        shop = shop_of(tmp_path / "shop", held, program)
        out = tmp_path / "out"
        done = gateval(shop, "run", "held-out", "--results", str(out), **KEY)
        assert done.returncode == 0, done.stdout + done.stderr
        opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
        (trial,) = json.loads(opened)["trials"]
        saw = trial["assessments"][0]["reason"]
        assert "own folder" in saw
        assert "own temporary folder" in saw
        for way in (
            *("tcp", "udp", "unix", "/tmp", "/var/tmp", "/dev/shm", "shared memory", "semaphores"),
            *("messages", "another's limits", "another's niceness", "another's processors"),
        ):
            assert f'"{way}"' not in saw.replace("\\", ""), saw
    assert leaks([tmp_path], [done.stdout, done.stderr]) == []


def test_a_sealed_command_that_looks_for_files_in_its_folder_is_told_where_they_are(
    tmp_path: Path,
) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write(".github/gateval.yml", CONFIG)
    asked = "{type: commandResult, command: [python3, tells.py]}"
    shop.write("held.yaml", FIXTURE.replace("ASKED", asked))
    done = gateval(shop, "seal", "held.yaml")
    assert done.returncode == 2
    assert "Name a file of the playground as `{playground}/NAME`" in done.stderr
    assert not (shop.path / "held.yaml.age").exists()
    named = asked.replace("tells.py", "'{playground}/tells.py'")
    shop.write("held.yaml", FIXTURE.replace("ASKED", named))
    assert gateval(shop, "seal", "held.yaml").returncode == 0


def test_one_in_a_plain_file_is_an_error(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("desk/agent.yaml", AGENT)
    shop.write(
        "desk/desk.py",
        "import os\nopen(os.environ['GATEVAL_PLAYGROUND'] + '/left.py', 'w')\nprint('Done.')\n",
    )
    shop.write(".github/gateval.yml", CONFIG)
    asked = "{type: not, assertions: [{type: commandResult, command: [python3, left.py]}]}"
    plain = FIXTURE.replace("ASKED", asked) + (
        "---\napiVersion: gateval/v1\nkind: Eval\nmetadata: {name: held-out}\n"
        "spec: {targetAgent: desk, fixtures: [tells], sealed: true}\n"
    )
    shop.write("held.yaml", plain)
    shop.commit("Plain")
    out = tmp_path / "out"
    done = gateval(shop, "run", "held-out", "--results", str(out), **KEY)
    assert done.returncode == 3, done.stdout + done.stderr
    opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    trial, *_ = json.loads(opened)["trials"]
    assert "a sealed command works in an empty folder. Write `{playground}/left.py`" in str(trial)
