"""The servers of the tests end without a connection left open, however early they are ended."""

from __future__ import annotations

import gc
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.helpers.certificates import self_signed
from tests.helpers.providers import provider
from tests.servers.github.server import GitHubServer
from tests.servers.model_server import reply
from tests.servers.tls_front import TlsFront

Serving = Callable[[Path], AbstractContextManager[int]]


@contextmanager
def github(_: Path) -> Iterator[int]:
    with GitHubServer() as server:
        yield int(server.url.rpartition(":")[2])


@contextmanager
def models(_: Path) -> Iterator[int]:
    with provider(lambda call: reply(call, "Hello")) as (server, _environ):
        yield server.port


@contextmanager
def front(folder: Path) -> Iterator[int]:
    certificate = self_signed(folder)
    with (
        socket.create_server(("127.0.0.1", 0)) as behind,
        TlsFront(behind.getsockname()[1], certificate) as server,
    ):
        yield int(server.url.rpartition(":")[2])


@pytest.mark.parametrize("serving", [github, models, front])
@pytest.mark.parametrize("sent", [b"", b"GET /x HTTP/1.1\r\n"], ids=["nothing", "half a request"])
def test_a_client_that_has_just_come_leaves_nothing_open(
    tmp_path: Path, serving: Serving, sent: bytes
) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(8):
            with serving(tmp_path) as port, socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(sent)
        gc.collect()
    assert [str(warning.message) for warning in told] == []
