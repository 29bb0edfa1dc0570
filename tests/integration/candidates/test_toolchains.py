"""Programs of other toolchains behind the walls, the filter of system calls above all.

Node, Go and Java make threads, and start children, by calls of their own; a browser does all that
at once. Each is a candidate that works outside, and has to work here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from tests.helpers.candidates import World
from tests.helpers.isolation import isolated_world, output_of
from tests.helpers.users import SAME_USER_TOO

ROOMY = ResourceLimits(memory_mib=4096, disk_mib=1024, files=4096, processes=1000)

NODE = """
const { Worker } = require("worker_threads");
const { execFileSync } = require("child_process");
const fs = require("fs"), http = require("http");
fs.readFile(__filename, async (error, text) => {
  const child = execFileSync("sh", ["-c", "echo child"]).toString().trim();
  const worker = new Worker("require('worker_threads').parentPort.postMessage('worker')", { eval: true });
  const said = await new Promise((done) => worker.once("message", done));
  const server = http.createServer((q, a) => a.end("served")).listen(0, "127.0.0.1", async () => {
    const served = await (await fetch(`http://127.0.0.1:${server.address().port}`)).text();
    console.log(text.length > 100, child, said, served);
    server.close();
  });
});
"""

GO = """
package main

import (
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"sync"
)

func main() {
	var all sync.WaitGroup
	for n := 0; n < 50; n++ {
		all.Add(1)
		go func() { defer all.Done(); runtime.LockOSThread() }()
	}
	all.Wait()
	child, _ := exec.Command("echo", "child").Output()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil { panic(err) }
	go func() { line, _ := door.Accept(); line.Write([]byte("served")); line.Close() }()
	line, err := net.Dial("tcp", door.Addr().String())
	if err != nil { panic(err) }
	text := make([]byte, 6)
	line.Read(text)
	fmt.Println("threads", string(child[:5]), string(text))
}
"""

JAVA = """
import java.net.*;
import java.util.stream.*;

public class Agent {
    public static void main(String[] words) throws Exception {
        int sum = IntStream.range(0, 1000).parallel().sum();
        Process child = new ProcessBuilder("echo", "child").start();
        String said = new String(child.getInputStream().readAllBytes()).trim();
        ServerSocket door = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        Thread server = new Thread(() -> {
            try (Socket line = door.accept()) { line.getOutputStream().write("served".getBytes()); }
            catch (Exception error) { throw new RuntimeException(error); }
        });
        server.start();
        try (Socket line = new Socket(door.getInetAddress(), door.getLocalPort())) {
            System.out.println(sum + " " + said + " " + new String(line.getInputStream().readAllBytes()));
        }
    }
}
"""

PAGE = """<!DOCTYPE html><p id="said">nothing</p>
<script>document.getElementById("said").textContent = "script " + [1, 2, 3].map((n) => n * n)</script>
"""

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(params=["own users", SAME_USER_TOO])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    own = request.param == "own users"
    if own and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    with isolated_world(ROOMY, own_users=own) as world:
        yield world


def found(*names: str) -> str:
    """The path of the first of these programs that is installed."""
    for name in names:
        path = shutil.which(name, path=os.defpath + ":/usr/local/bin:/usr/lib/go/bin")
        if path:
            return path
    pytest.skip(f"{names[0]} is not installed here")


def test_node(world: World) -> None:
    world.write("agent.js", NODE)
    assert output_of(world, "", found("node"), "agent.js") == "true child worker served"


def test_go(world: World) -> None:
    world.write("main.go", GO)
    go = found("go")
    built = (
        f'GOFLAGS=-p=2 GOCACHE="$HOME/cache" {go} build -o "$HOME/agent" main.go && "$HOME/agent"'
    )
    assert output_of(world, "", "sh", "-c", built, timeout=120) == "threads child served"


def test_java(world: World) -> None:
    world.write("Agent.java", JAVA)
    java = found("java")
    found("javac")
    assert output_of(world, "", java, "Agent.java", timeout=60) == "499500 child served"


def test_a_browser(world: World) -> None:
    """It needs `--no-sandbox`: its own sandbox is made of what candidates are refused."""
    world.write("page.html", PAGE)
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom")
    page = f"file://{world.export}/page.html"
    seen = output_of(world, "", found(*CHROMIUM), *flags, page, timeout=60)
    assert "script 1,4,9" in seen
