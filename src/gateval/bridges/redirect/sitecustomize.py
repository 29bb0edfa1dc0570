"""Leads calls to known addresses of model providers to the gateway; runs before a Python program.

The gate puts the folder of this file first on PYTHONPATH, so that Python loads it in the place of
the program's own `sitecustomize`, which runs at the end all the same. Nothing is imported here but
what the interpreter has loaded by then, so that no file of the program can take its place; clients
are changed once the program has imported them. It knows nothing of the gate: GATEVAL_REDIRECT says
where calls go, GATEVAL_REDIRECT_HOSTS of which hosts.

A client that is not known here, or has changed, keeps its address, and its call fails there.
"""

import _frozen_importlib
import _frozen_importlib_external
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OWN = os.path.dirname(os.path.abspath(__file__))

BASE = os.environ.get("GATEVAL_REDIRECT", "")
HOSTS = frozenset(os.environ.get("GATEVAL_REDIRECT_HOSTS", "").split(",")) - {""}

_, _, _REST = BASE.partition("://")
_PLACE, _SLASH, _PATH = _REST.partition("/")
GATE, _, _NUMBER = _PLACE.partition(":")
PORT = int(_NUMBER) if _NUMBER.isdigit() else 80
PATH = _SLASH + _PATH

HTTPS = 443


def led(host: "Any", port: "Any") -> str:
    """Return the path at the gateway for this host and port, "" where it is to be left alone."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    name = name.lower().rstrip(".")
    known = name in HOSTS or "." + name.partition(".")[2] in HOSTS
    return f"{PATH}/{name}" if known and port in (None, HTTPS) else ""


def change_httpcore(module: "Any") -> None:
    """What httpx sends, sync and async."""

    def moved(request: "Any") -> "Any":
        url = request.url
        path = led(url.host, url.port) if url.scheme == b"https" else ""
        if path:
            target = path.encode("ascii") + url.target
            request.url = module.URL(scheme=b"http", host=GATE, port=PORT, target=target)
        return request

    def sync(original: "Any") -> "Any":
        def handle_request(self: "Any", request: "Any") -> "Any":
            return original(self, moved(request))

        return handle_request

    def waits(original: "Any") -> "Any":
        async def handle_async_request(self: "Any", request: "Any") -> "Any":
            return await original(self, moved(request))

        return handle_async_request

    pool, async_pool = module.ConnectionPool, module.AsyncConnectionPool
    pool.handle_request = sync(pool.handle_request)
    async_pool.handle_async_request = waits(async_pool.handle_async_request)


def change_urllib3(module: "Any") -> None:
    """What requests sends, and whoever uses urllib3 itself."""
    secure, plain = module.HTTPSConnectionPool, module.HTTPConnectionPool
    original = secure.urlopen

    def urlopen(self: "Any", method: str, url: str, *words: "Any", **named: "Any") -> "Any":
        path = "" if self.proxy else led(self.host, self.port)
        if not path:
            return original(self, method, url, *words, **named)
        pool = self.__dict__.get("_led")
        if pool is None:
            pool = self._led = plain(GATE, PORT, timeout=self.timeout, retries=self.retries)
        if "://" in url.partition("?")[0]:
            url = "/" + url.partition("://")[2].partition("/")[2]
        named["assert_same_host"] = False
        return pool.urlopen(method, path + url, *words, **named)

    secure.urlopen = urlopen


def change_aiohttp(module: "Any") -> None:
    """What a session of aiohttp asks for."""
    session = module.ClientSession
    original = session._build_url

    def _build_url(self: "Any", asked: "Any") -> "Any":
        url = original(self, asked)
        path = led(url.host, url.port) if url.scheme in ("https", "wss") else ""
        if not path:
            return url
        return type(url)("http://" + _PLACE + path + url.raw_path_qs, encoded=True)

    session._build_url = _build_url


def change_http(module: "Any") -> None:
    """What the library itself sends: `urllib.request`, `http.client`."""
    secure, plain = module.HTTPSConnection, module.HTTPConnection
    connects, puts = secure.connect, plain.putrequest

    def path_of(connection: "Any") -> str:
        tunnel = getattr(connection, "_tunnel_host", None)
        return "" if tunnel else led(connection.host, connection.port)

    def connect(self: "Any") -> "Any":
        if not path_of(self):
            return connects(self)
        host, port = self.host, self.port
        self.host, self.port = GATE, PORT
        try:
            return plain.connect(self)
        finally:
            self.host, self.port = host, port

    def putrequest(self: "Any", method: str, url: str, *words: "Any", **named: "Any") -> "Any":
        path = path_of(self)
        if path and "://" in url.partition("?")[0]:
            url = "/" + url.partition("://")[2].partition("/")[2]
        return puts(self, method, path + url, *words, **named)

    secure.connect = connect
    secure.putrequest = putrequest


CHANGES = {
    "httpcore": change_httpcore,
    "httpcore2": change_httpcore,
    "urllib3.connectionpool": change_urllib3,
    "aiohttp.client": change_aiohttp,
    "http.client": change_http,
}
"""Which modules are changed, once they are loaded, and how."""


def change(name: str, module: "Any") -> None:
    """Change a client that was loaded. One that looks otherwise than those known stays as it is."""
    try:
        CHANGES[name](module)
    except Exception:
        pass


class Loader:
    """Loads a module as its own loader does, and changes it."""

    def __init__(self, own: "Any") -> None:
        self._own = own

    def create_module(self, spec: "Any") -> "Any":
        """Make the module."""
        return self._own.create_module(spec)

    def exec_module(self, module: "Any") -> None:
        """Run it, under its own loader again."""
        spec = module.__spec__
        spec.loader = module.__loader__ = self._own
        self._own.exec_module(module)
        change(spec.name, module)


class Finder:
    """Finds the modules of `CHANGES` as all others would."""

    @staticmethod
    def find_spec(name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        """Return how the module is loaded, None for all others."""
        if name not in CHANGES:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is Finder else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec.loader)
                return spec
        return None


def run_own() -> None:
    """Run the `sitecustomize` that the program would have had."""
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != OWN]
    spec = _frozen_importlib_external.PathFinder.find_spec("sitecustomize", list(sys.path))
    if spec is None or spec.loader is None:
        return
    module = _frozen_importlib.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if BASE and HOSTS:
    sys.meta_path.insert(0, Finder)
    for _name in [one for one in CHANGES if one in sys.modules]:
        change(_name, sys.modules[_name])

run_own()
