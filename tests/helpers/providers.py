"""A model provider on loopback for runs of the real command line: a thread beside the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.model_server import ModelServer, Responder

KEY = "sk-canary-0123456789abcdef"


@contextmanager
def provider(respond: Responder) -> Iterator[tuple[ModelServer, dict[str, str]]]:
    """Serve OpenAI's and Anthropic's formats; give the server and what the gate's environment needs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = ModelServer(respond)
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    environ = {
        "OPENAI_BASE_URL": server.openai_url,
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": KEY,
    }
    try:
        yield server, environ
    finally:
        closing = server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(closing, loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
