"""`policy.egress` through the real entry: it holds candidates, and where it cannot, nothing runs."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo import gate
from gateval.errors import UsageError
from tests.helpers.command import start_gateval
from tests.helpers.isolation import held_here, open_folder, open_python
from tests.helpers.repo import Repo
from tests.helpers.serving import HTTP
from tests.helpers.shop import FIXTURES, build_shop
from tests.helpers.tiers import some_always

ASKED = """
import json, os, socket, sys, urllib.request
def reached(port):
    try:
        socket.create_connection(("127.0.0.1", port), 3).close()
        return "reached"
    except OSError as error:
        return error.strerror
def answer(question):
    asked = {"model": "support", "messages": [{"role": "user", "content": question}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(asked).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    return f"{said} Elsewhere: {reached(PORT)}."
"""
COMMAND = 'print(answer(json.load(sys.stdin)["prompt"]))\n'
SERVER = """
class Mine(Handler):
    def answer(self, body): self.say(200, {"output": answer(body["prompt"])})
serve(Mine)
"""

MANIFEST = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  models: [scripted/support]
  runtime: {{{runtime}}}
"""

RUNTIMES = {
    "command": (
        "type: command, cwd: ../code, command: [{python}, -S, command.py]",
        ASKED + COMMAND,
    ),
    "http": (
        'type: http, cwd: ../code, command: [{python}, -S, http_agent.py, "{{port}}"], request: {{path: /}}',
        HTTP + ASKED + SERVER,
    ),
}

NO_LANDLOCK = """
import ctypes, os, sys
seccomp = ctypes.CDLL("libseccomp.so.2")
seccomp.seccomp_init.restype = ctypes.c_void_p
context = ctypes.c_void_p(seccomp.seccomp_init(0x7fff0000))
assert seccomp.seccomp_rule_add_array(context, 0x00050000 | 38, 444, 0, None) == 0  # ENOSYS
assert seccomp.seccomp_load(context) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts a program for which the kernel is one without Landlock (landlock_create_ruleset is 444)."""


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """The port of somebody else on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield door.getsockname()[1]


def shop_with(path: Path, runtime: str, egress: str, port: int) -> Repo:
    """A shop whose Agent is a program, with this policy on `main`; head asks for an open one."""
    repo = build_shop(path)
    words, program = RUNTIMES[runtime]
    name = "command.py" if runtime == "command" else "http_agent.py"
    repo.write(f"code/{name}", program.replace("PORT", str(port)))
    repo.write("agents/support.yaml", MANIFEST.format(runtime=words.format(python=open_python())))
    repo.write("evals/fixtures.yaml", FIXTURES.split("---\n")[1])
    repo.write(".github/gateval.yml", f"policy: {{egress: {egress}}}\n")
    repo.commit()
    repo.git("branch", "--force", "main")
    repo.write(f"code/{name}", program.replace("PORT", str(port)) + "# changed\n")
    repo.write(".github/gateval.yml", "policy: {egress: open}\n")
    repo.commit()
    return repo


@pytest.mark.parametrize("runtime", some_always(RUNTIMES, 2))
@pytest.mark.parametrize(
    ("egress", "reached"),
    some_always(
        [("gateway", False), ("[443]", False), ("PORT", True), ("open", True)], 2, spread=True
    ),
)
def test_candidates_reach_the_gateway_and_what_is_listed(
    elsewhere: int, runtime: str, egress: str, *, reached: bool
) -> None:
    try:
        held_here()
    except UsageError as error:
        pytest.skip(error.message)
    with open_folder() as folder:
        egress = egress.replace("PORT", f"[{elsewhere}, 80]")
        shop = shop_with(folder / "shop", runtime, egress, elsewhere)
        results = folder / "out"
        run = start_gateval(shop, "check", "--results", str(results))
        printed = "".join(run.communicate(timeout=60))
        assert (results / "results.v1.json").exists(), printed
        stored = json.loads((results / "results.v1.json").read_text())
    outputs = {trial["output"] for trial in stored["trials"]}
    said = "reached" if reached else "Permission denied"
    assert outputs == {f"Hello! How can I help? Elsewhere: {said}."}, printed
    assert len(stored["trials"]) == 2
    if egress != "open":
        assert "policy.egress" in printed, "an edit of the policy is told"


@pytest.mark.parametrize("egress", some_always(["gateway", "[443]", "open"], 3))
def test_where_the_kernel_cannot_hold_it_nothing_runs(elsewhere: int, egress: str) -> None:
    with open_folder() as folder:
        shop = shop_with(folder / "shop", "command", egress, elsewhere)
        command = [sys.executable, "-I", "-c", NO_LANDLOCK, *gate()]
        if gate()[0] == "setpriv":  # the wish to run as root without Landlock is refused, too
            command = [sys.executable, "-I", "-c", NO_LANDLOCK, sys.executable, *gate()[-3:]]
        run = start_gateval(shop, "check", command=command)
        _, said = run.communicate(timeout=60)
        if egress == "open":
            assert "a kernel with Landlock" in said
            return
        assert run.returncode == 2, said
        assert "nothing here can hold them to it: there is no Landlock and a filter" in said
        assert "It takes Landlock 4 (Linux 6.7)" in said
