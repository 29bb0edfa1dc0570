"""Repositories in which `init` looks for programs, and that mean harm: nothing hangs or breaks."""

from __future__ import annotations

import json
import time

import pytest

from gateval.domain.setup.program_search import find_programs
from gateval.domain.setup.variables import example_values
from gateval.formats.yaml_reader import read_documents
from gateval.render.starter import program_manifest

SIZE = 199_000
"""Characters of a file: larger ones are not read."""

SECONDS = 10
EXPRESS = "import express from 'express';\nimport OpenAI from 'openai';\nconst app = express();\n"
PYTHON = "from fastapi import FastAPI\nfrom openai import OpenAI\napp = FastAPI()\n"
PAGE = "import {streamText} from 'ai';\nexport async function POST(req: Request) {\n"
NEST = "import {Controller, Post, Body} from '@nestjs/common';\nimport OpenAI from 'openai';\n"
PUMPS = [
    ("src/index.ts", EXPRESS, ".", "*"),
    ("src/index.ts", EXPRESS, " ", "Request<"),
    ("src/index.ts", EXPRESS, " ", "let"),
    ("src/index.ts", EXPRESS, " ", " a :"),
    ("src/index.ts", EXPRESS, " ", "z.enum("),
    ("src/index.ts", EXPRESS, ".post <", ""),
    ("src/index.ts", EXPRESS, ".get(`/' ,{ask", ""),
    ("src/index.ts", EXPRESS, "/*a", ""),
    ("src/index.ts", EXPRESS, "a:a", ""),
    ("src/index.ts", EXPRESS, "( {", ""),
    ("src/chat.controller.ts", NEST, "Hono( {", ""),
    ("src/chat.controller.ts", NEST, ".route(`/a',a", ""),
    ("src/chat.controller.ts", NEST, "private ", ""),
    ("app/api/chat/route.ts", PAGE, "const a:", ""),
    ("app/api/chat/route.ts", PAGE, " ", "let{} :"),
    ("app/api/chat/route.ts", PAGE, "let{} ", ""),
    ("app/api/chat/route.ts", PAGE, "@click.option(", ""),
    ("main.py", PYTHON, "parseArgs(", ""),
    ("main.py", PYTHON, "a:", ""),
    ("flows.py", "from crewai.flow.flow import Flow\n", "class A(Flow):\n    pass\n", ""),
    ("main.go", "package main\n", "/", "from'botbuilder"),
    (".env.example", "", " ", "A0= aa"),
    ("pyproject.toml", "", "a.", ""),
    ("README.md", "python", " --a", ""),
    ("README.md", "", "uvicorn ", ""),
    ("README.md", "## Requirements\n- ", "_a", ""),
    ("README.md", "```\n", "docker run a/ ", ""),
    ("README.md", "```\n", "```\n## Requirements\n", ""),
]


@pytest.mark.parametrize(("path", "begins", "unit", "more"), PUMPS)
def test_a_file_is_read_in_time_whatever_it_repeats(
    path: str, begins: str, unit: str, more: str
) -> None:
    text = f"{begins}{more}{unit * ((SIZE - len(begins)) // len(unit))}!"
    texts = {"agent.py": PYTHON, path: text}
    began = time.process_time()
    assert isinstance(find_programs(texts, [*texts], ""), tuple)
    assert time.process_time() - began < SECONDS


PROJECTS = [
    "", "null", "1", "[]", "[1]", '"x"', "{", "NaN", "1e999", "9" * 5_000, "[" * 100_000,
    '{"scripts": null}', '{"scripts": []}', '{"scripts": {"start": {"a": 1}}}', '{"bin": [[1]]}',
    '{"main": {}}', '{"name": []}', '{"dependencies": null}', '{"workspaces": {"packages": 1}}',
    '{"graphs": {"a": null}}', '{"graphs": {"a": "../../x.py:y"}}', '{"env": "/etc/passwd"}',
    "[project]\nscripts = 1\n", "[project]\nname = []\n", f"a = {'9' * 5_000}\n", "a = 2024-99-99",
    "services: 1\n", "services:\n  a: {image: 1}\n", "&a [*a]\n", "\x00\x01\ufffd",
]  # fmt: skip
NAMES = [
    "package.json", "pyproject.toml", "langgraph.json", "root_agent.yaml", "compose.yaml",
    ".env.example", "README.md", "requirements.txt", "Dockerfile", "Procfile",
]  # fmt: skip


@pytest.mark.parametrize("project", PROJECTS, ids=range(len(PROJECTS)))
def test_no_project_file_breaks_the_search(project: str) -> None:
    for name in NAMES:
        texts = {"src/index.ts": EXPRESS, "agent.py": PYTHON, name: project}
        assert isinstance(find_programs(texts, [*texts], ""), tuple), name


ODD = (
    "yes", "0o17", "~a", "1_000", "0x1F", "1e3", "2024-01-01", "a: b", "- x", "a #b", "&a", "*a",
    "!!python/object:os.system x", "%x", "@x", "`x`", "=", "<<", "a, b]", "]]>", "a\u202eb", "**b**",
    ".5", ".INF", ".", "a:b", "c:", "C:b", "@scope/x", "-", "--", "?", "|", ">", "1:30", "n", "\u0665",
)  # fmt: skip


def test_values_of_an_example_are_texts_in_the_manifest_and_nothing_else() -> None:
    lines = "".join(f"ODD_{number}='{value}'\n" for number, value in enumerate(ODD))
    plain = example_values(lines).plain
    (program, *_) = find_programs({"agent.py": PYTHON, ".env.example": lines}, ["agent.py"], "")
    text = program_manifest("a", program._replace(examples=tuple(plain.items())), (), "")
    documents, problems = read_documents("a.yaml", text.encode())
    env = json.loads(json.dumps(documents[0].data))["spec"]["runtime"]["env"]
    assert not problems
    assert plain.keys() <= env.keys()
    assert {name: env[name] for name in plain} == plain
    assert "@scope/x" in plain.values()
    assert "a\u202eb" not in plain.values()
