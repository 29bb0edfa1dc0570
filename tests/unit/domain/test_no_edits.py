"""What is seen of programs that cannot run as they are: in their texts, and in what they print."""

from __future__ import annotations

import pytest

from gateval.domain.setup.no_edits import HOSTS, address_advice, names_provider, writes_beside
from gateval.gateway.local.session import HOSTS as LED

WRITING = [
    'open("cache.json", "w")',
    "with open('logs/run.txt', mode='a') as file:",
    'Path("out").mkdir(exist_ok=True)',
    'Path("out") / "x"\nPath("notes.md").write_text(text)',
    "os.makedirs('data/cache', exist_ok=True)",
    'sqlite3.connect("shop.db")',
    'SqliteSaver.from_conn_string("checkpoints.sqlite")',
    'create_engine("sqlite:///./shop.db")',
    'create_engine("sqlite+aiosqlite:///shop.db")',
    'chromadb.PersistentClient(path="./chroma")',
    'logging.FileHandler("agent.log")',
    'fs.writeFileSync("./cache.json", text)',
    "await mkdir('uploads', { recursive: true });",
    "createWriteStream(`log.txt`)",
    'new Database("shop.db")',
    'createClient({ url: "file:./dev.db" })',
    'db = SqliteDb(\n    id="x",\n    db_file="tmp/desk.db",\n)',
    'Chroma("docs", persist_directory="./chroma")',
    """kept = f"wallet_{name.replace('-', '_')}.txt"\nwith open(kept, "w") as file:\n    pass""",
]
NOT_WRITING = [
    'open("prices.csv")',
    "open('prices.csv', 'r')",
    'open("/tmp/cache.json", "w")',
    'open(f"{home}/cache.json", "w")',
    'open(path, "w")',
    'kept = f"{home}/wallet.txt"\nopen(kept, "w")',
    'kept = "wallet.txt"\nopen(kept)',
    'Store(db_path="postgres://x/y")',
    'sqlite3.connect(":memory:")',
    'create_engine("sqlite:////var/lib/shop.db")',
    'create_engine("sqlite:///:memory:")',
    '# open("cache.json", "w")',
    '// fs.writeFileSync("./cache.json", text)',
    'fs.readFileSync("./cache.json")',
    "fs.writeFileSync(`${dir}/cache.json`, text)",
]


@pytest.mark.parametrize("text", WRITING)
def test_a_program_that_writes_beside_its_code_is_seen(text: str) -> None:
    assert writes_beside(["import os", text])


@pytest.mark.parametrize("text", NOT_WRITING)
def test_one_that_writes_elsewhere_is_not(text: str) -> None:
    assert not writes_beside([text])


NAMING = [
    'OpenAI(base_url="https://api.openai.com/v1")',
    "fetch('https://api.anthropic.com/v1/messages', {",
    "const url = `https://generativelanguage.googleapis.com/v1beta/models/${model}`;",
    'endpoint = "https://desk.openai.azure.com"',
    'import { google } from "@ai-sdk/google";',
    "const { GoogleGenerativeAI } = require('@google/generative-ai');",
    'os.getenv("LLM_URL", "https://api.openai.com/v1")',
]
NOT_NAMING = [
    "client = OpenAI()",
    'os.getenv("OPENAI_BASE_URL", "https://api.openai.com/v1")',
    "process.env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com'",
    "# see https://api.openai.com/v1",
    '# base_url="https://api.openai.com/v1"',
    'docs = "https://platform.openai.com/docs"',
    '"https://api.openai.com.evil.example/"',
    'import { openai } from "@ai-sdk/openai";',
]


@pytest.mark.parametrize("text", NAMING)
def test_an_address_that_is_built_in_is_seen(text: str) -> None:
    assert names_provider([text])


@pytest.mark.parametrize("text", NOT_NAMING)
def test_what_the_environment_changes_is_none(text: str) -> None:
    assert not names_provider([text])


SAID = {
    "Error: getaddrinfo ENOTFOUND api.openai.com": "It called api.openai.com at its own",
    "  cause: Error: getaddrinfo EAI_AGAIN api.anthropic.com": "It called api.anthropic.com",
    "Failed to resolve 'desk.openai.azure.com' ([Errno -2])": "It called desk.openai.azure.com",
    "Cannot connect to host api.openai.com:443 ssl:default [Temporary failure]": "api.openai.com",
    "dial tcp: lookup openrouter.ai: no such host": "It called openrouter.ai",
    "httpx.ConnectError: [Errno -2] Name or service not known": "It may have called a provider",
    "httpx.ConnectError: [Errno 13] Permission denied": "It may have called a provider",
    "openai.APIConnectionError: Connection error.": "It may have called a provider",
    "TypeError: fetch failed": "It may have called a provider",
    "Error: connect EACCES 162.159.140.245:443": "It may have called a provider",
    "401 - Incorrect API key provided: gateval-abc": "It may have called a provider",
    "401 - Incorrect API key provided: sk-gatev**********abcd.": "It may have called a provider",
}


@pytest.mark.parametrize("line", SAID)
def test_a_provider_that_could_not_be_reached_is_recognised(line: str) -> None:
    told = address_advice(["Traceback", line], redirected=False, calls=None)
    assert SAID[line] in told
    assert "`runtime.redirect: true`" in told
    again = address_advice([line], redirected=True, calls=0)
    assert "does not lead to the gateway" in again


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("Error: getaddrinfo ENOTFOUND crm.example", 0),
        ("asked api.openai.com, which answered", 0),
        ("TypeError: fetch failed", 2),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", 0),
    ],
)
def test_what_else_fails_is_not(line: str, calls: int) -> None:
    assert address_advice([line], redirected=False, calls=calls) == ""


def test_the_hosts_are_those_that_the_gateway_knows() -> None:
    known = {one.removeprefix(".") for one in LED}
    assert known == set(HOSTS)
