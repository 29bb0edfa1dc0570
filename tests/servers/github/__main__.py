"""The server as a process of its own.

    python -m tests.servers.github tests.some.module:function [--enterprise]

`function` takes the running `GitHubServer`, sets its world up, and returns what shall be told. One
line of JSON is printed then: `url`, `api_url`, and what was told. The server lives until its
standard input closes; a second line holds the requests and the breaches of contract, of which any
makes the exit status 1.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict

from tests.servers.github.server import GitHubServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.github")
    parser.add_argument("scene", metavar="MODULE:FUNCTION", help="sets the world up")
    parser.add_argument("--enterprise", action="store_true", help="be a GitHub Enterprise Server")
    options = parser.parse_args()
    module, _, name = options.scene.partition(":")
    scene = getattr(importlib.import_module(module), name)
    server = GitHubServer(enterprise=options.enterprise)
    try:
        with server:
            told = scene(server)
            print(json.dumps({"url": server.url, "api_url": server.api_url, **told}), flush=True)
            sys.stdin.read()
    except AssertionError:
        if not server.broken():
            raise
    requests = [asdict(entry) for entry in server.log.entries]
    print(json.dumps({"requests": requests, "broken": server.broken()}))
    sys.exit(1 if server.broken() else 0)


if __name__ == "__main__":
    main()
