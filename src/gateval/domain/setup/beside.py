"""What an agent needs beside it: databases that its compose file or its variables name.

Each trial has a server of its own, as a service in the Agent's isolation, never the one of the
person: what an agent writes there is gone with the run.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gateval.domain.setup.import_graph import explained_lines

COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")


class Server(NamedTuple):
    """A kind of server: what images and variables are called, and how one is started and named.

    `needs` are the programs of it that have to be on PATH.
    """

    name: str
    image: str
    variable: str
    needs: tuple[str, ...]
    command: tuple[str, ...]
    address: str


_POSTGRES = (
    "id -un > /dev/null 2>&1 || { echo app:x:$(id -u):$(id -g)::/:/bin/sh > {home}/passwd;"
    " export NSS_WRAPPER_PASSWD={home}/passwd NSS_WRAPPER_GROUP=/dev/null"
    " LD_PRELOAD=$(ls /usr/lib/*/libnss_wrapper.so); };"
    " initdb -D {home}/data -U app -A trust > /dev/null"
    " && exec postgres -D {home}/data -p {port} -h 127.0.0.1 -k {home}"
)
"""PostgreSQL in a folder of its own. It starts for no user without a name, as the candidates of a
gate that is root are; libnss-wrapper, a package of distributions, gives one.
"""

SERVERS = (
    Server(
        "db",
        r"postgres|pgvector|postgis|timescale",
        r"DATABASE_URL|DB_URL|(?:POSTGRES|PG)\w*_UR[LI]",
        ("initdb", "postgres"),
        ("sh", "-c", _POSTGRES),
        "postgresql://app@{services.db}/postgres",
    ),
    Server(
        "redis",
        r"redis|valkey",
        r"REDIS\w*_UR[LI]",
        ("redis-server",),
        ("redis-server", "--port", "{port}", "--save", ""),
        "redis://{services.redis}/0",
    ),
)
_IMAGE = re.compile(r"^[ \t]+image:[ \t]*[\"']?(?:[\w.-]+(?::\d+)?/)*([\w.-]+)", re.M)
_MIGRATES = re.compile(r"(?:db:)?(?:migrate|push)(?::deploy)?")


class Beside(NamedTuple):
    """The servers beside an agent, the variables that say where they are, and what fills them.

    `images` are those of the compose file that nothing here starts. `needed` says that the compose
    file has each of the servers too: then nothing is left to a person.
    """

    servers: tuple[Server, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    before: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    needed: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """The programs that have to be on PATH."""
        own = tuple(one for server in self.servers for one in server.needs)
        return (*own, "psql") if any("psql" in word for word in self.before) else own

    @property
    def set(self) -> frozenset[str]:
        """The variables that the manifest sets."""
        return frozenset(dict(self.env)) if self.needed else frozenset()


_MOUNT = r"/docker-entrypoint-initdb\.d(?:/([\w.-]*))?(?=[:\"'\s]|$)"
_MOUNTED = re.compile(
    rf"^[ \t]+-[ \t]*[\"']?([\w./ -]{{1,200}}):{_MOUNT}"
    rf"|^[ \t]+source:[ \t]*[\"']?([\w./ -]{{1,200}}?)[\"']?[ \t]*\n"
    rf"[ \t]+target:[ \t]*[\"']?{_MOUNT}",
    re.M,
)


def seeds_in(composed: str) -> tuple[tuple[str, str], ...]:
    """Return the files and folders that a compose file has a database run when it is new, as the
    path from the compose file's folder and the name that it has there, "" for a folder.
    """
    return tuple((one[0] or one[2], one[1] or one[3]) for one in _MOUNTED.findall(composed))


_OF_SERVER = re.compile(r"(?im)^\s*(?:\\c(?:onnect)?\b|create\s+(?:database|role|user)\b)")


def fills_one_database(sql: str) -> bool:
    """Whether this SQL can fill an empty schema again and again: it makes no databases and users,
    which are of the whole server.
    """
    return bool(sql.strip()) and not _OF_SERVER.search(sql)


def beside_of(
    composed: Iterable[str],
    variables: Collection[str],
    files: Mapping[str, str],
    seeds: Sequence[str] = (),
) -> Beside:
    """Return what an agent needs beside it.

    `composed` are texts of compose files, `variables` what it reads, `files` texts by name of the
    folder that it works in, `seeds` the paths from there of SQL that fills its database.
    """
    images = tuple(dict.fromkeys(name for text in composed for name in _IMAGE.findall(text)))
    servers, env = [], []
    for server in SERVERS:
        read = [name for name in variables if re.fullmatch(server.variable, name)]
        if read:  # a server that no variable leads to would stand there for nobody
            servers.append(server)
            env += [(name, server.address) for name in read]
    known = re.compile("|".join(one.image for one in SERVERS))
    others = tuple(one for one in images if not known.search(one))
    before = _filling(seeds, _migration(files)) if any(one.name == "db" for one in servers) else ()
    composed_too = all(any(re.search(one.image, image) for image in images) for one in servers)
    return Beside(tuple(servers), tuple(env), before, others, bool(servers) and composed_too)


def _filling(seeds: Sequence[str], migration: tuple[str, ...]) -> tuple[str, ...]:
    """Return what makes the tables anew before each trial: the trials of a side share a server."""
    if not seeds:
        return migration
    address = next(one.address for one in SERVERS if one.name == "db")
    named = (word for path in seeds for word in ("-f", path))
    fill = ("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", _EMPTY, *named)
    if not migration:
        return fill
    return ("sh", "-c", f"{shlex.join(fill)} && {shlex.join(migration)}")


_EMPTY = "drop schema public cascade; create schema public"


def _migration(files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that makes the tables of an empty database, () for none."""
    if "alembic.ini" in files:
        return (".venv/bin/alembic", "upgrade", "head")
    try:
        scripts = json.loads(files.get("package.json", "{}")).get("scripts", {})
        names = [str(one) for one in scripts]
    except (ValueError, RecursionError, AttributeError, TypeError):
        return ()
    found = min((one for one in names if _MIGRATES.fullmatch(one)), key=_rank, default="")
    return ("npm", "run", found) if found else ()


def _rank(name: str) -> tuple[bool, str]:
    return "migrate" not in name, name


_HERE = (
    r"([a-z][a-z0-9+]{1,30}://)(?:[^/@\"'{\s]{0,80}@)?((?:localhost|127\.0\.0\.1):(\d{2,5})"
    r"(?:/[^\"'{\s]{0,200})?)[\"']"
)
_ASKS_SERVER = re.compile(
    r"(?:\b(?:sse_client|streamable_?http_?client|\w*Client|\w*[Tt]ransport|\w*MCP\w*|\w*Params)\("
    r"(?:[^()\"']|[\"']\w+[\"'][ \t]*:){0,200}"
    r"|\b(?:\w+_)?(?:url|URL|uri|endpoint|ENDPOINT|host)[\"']?[ \t]*(?::[ \t]*str[ \t]*)?[=:][ \t]*"
    r"|\b(?:requests|httpx|client|session|http)\.(?:get|post|stream|put)\([ \t\n]*"
    r"|(?:getenv|environ\.get)\([ \t\n]*[\"']\w+[\"'],[ \t\n]*"
    rf")f?[\"']{_HERE}"
)
"""Where a program names a server on its machine that it asks."""

_ASKS_PORT = re.compile(
    r"\b(?!Fast|Http|HTTP|Base)[A-Z]\w*\(\s*host[ \t]*=[ \t]*[\"'](localhost|127\.0\.0\.1)[\"'],"
    r"\s*port[ \t]*=[ \t]*(\d{2,5})\b"
)
"""Where a program makes a client of a server on its machine."""

_LISTENS = re.compile(r"(?i)\bport\b[\"']?[ \t]*(?::[ \t]*int[ \t]*)?[=:,][ \t]*[\"']?(\d{2,5})\b")
_OF_MODELS = {"11434"}
"""The port of Ollama, which models name."""


_STORES = (
    (
        "Ollama",
        (
            r"\b(?:Chat|Async)?Ollama(?:LLM|Model|Client|Chat\w*|Embeddings?)?(?=\()"
            r"|\bollama\.(?:chat|generate|embed\w*)(?=\()"
            r"|(?<=[\"'])ollama(?:_chat)?/[\w.:-]+(?=[\"'])"
        ),
        r"OLLAMA\w*",
    ),
    (
        "PostgreSQL",
        (
            r"\b(?:Async)?Postgres(?:Saver|Store)\b(?=[.(])"
            r"|\b(?:psycopg2?|asyncpg)\.(?:connect|create_pool)(?=\()"
        ),
        r"(?:POSTGRES|PG|DATABASE|DB|SUPABASE|NEON)\w*",
    ),
    ("Redis", r"\bRedis(?:Saver|Store)\b(?=[.(])|\bredis\.Redis(?=\()", r"REDIS\w*"),
    ("MongoDB", r"\b(?:Async)?MongoClient(?=\()", r"MONGO\w*|ATLAS\w*|DB_\w+"),
    (
        "Docker",
        r"\bDocker\w*(?:Environment|Executor|Sandbox|Runtime)(?=\()|\bdocker\.from_env(?=\()",
        r"DOCKER\w*",
    ),
    ("Neo4j", r"\bGraphDatabase\.driver(?=\()|\bNeo4jGraph(?=\()", r"NEO4J\w*"),
)
"""Servers that a program asks by a client of theirs, and the variables that say where they are. No
gateway of models speaks Ollama's own API.
"""


def asked_here(texts: Iterable[str], variables: Collection[str] = ()) -> tuple[str, ...]:
    """Return the addresses of servers on its machine that a program of these texts asks: they have
    to run beside it. At a port that it names for itself it serves; what `variables` name is known.
    """
    known = list(texts)
    read = [_ports_of(text) for text in known]
    own = _OF_MODELS.union(*(listens for _, listens in read))
    found = [address for asks, _ in read for address, port in asks if port not in own]
    for name, client, named in _STORES:
        called = next(filter(None, (_client_in(text, client) for text in known)), "")
        schemes = (one.lower().startswith(name.lower()[:5]) for one in found)
        if called and not any(schemes) and not any(re.fullmatch(named, one) for one in variables):
            found.append(f"{name}'s address (`{called}`)")
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=16_384)  # many agents of one file
def _client_in(text: str, client: str) -> str:
    found = re.search(client, text)
    return found[0] if found else ""


@lru_cache(maxsize=4_096)  # many agents of one file
def _ports_of(text: str) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return the addresses that a text asks, each with its port, and the ports that it names."""
    here = "localhost" in text or "127.0.0.1" in text
    if here and (shown := explained_lines(text)):
        lines = text.splitlines()
        text = "\n".join(line for at, line in enumerate(lines, 1) if at not in shown)
    found = _ASKS_SERVER.findall(text) if here else ()
    asks = [(f"{scheme}{place}", port) for scheme, place, port in found]  # and nobody's password
    plain = _ASKS_PORT.sub("", text) if here else text
    asks += [(f"{host}:{port}", port) for host, port in _ASKS_PORT.findall(text)] if here else []
    return tuple(asks), frozenset(_LISTENS.findall(plain))


_EXAMPLE = re.compile(
    r"[._-](?:example|sample|template|dist)(?=$|\.(?:json|ya?ml|toml|ini|cfg|conf)$)"
    r"|^(?:example|sample|template)[._-]"
)


def absent_files(
    root: str, named: Collection[str], files: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """Return the files in a program's folder that it names and the repository has as an example
    alone, with that.
    """
    found = []
    for path in sorted(files):
        folder, _, name = path.rpartition("/")
        plain = re.sub(r"^env$", ".env", _EXAMPLE.sub("", name))
        whole = f"{folder}/{plain}".lstrip("/")
        known = plain != name and plain in named and (plain == ".env" or "." in plain.strip("."))
        if folder == root and known and whole not in files:
            found.append((whole, path))
    return tuple(found)
