"""What an agent needs beside it, by its compose file and its variables."""

from __future__ import annotations

import pytest

from gateval.domain.setup.beside import beside_of, fills_one_database, seeds_in

COMPOSE = """\
services:
  db:
    image: "ghcr.io:443/pgvector/pgvector:pg16"
  search:
    image: qdrant/qdrant:v1
  web:
    build: .
"""
MIGRATES = '{"scripts": {"db:push": "x", "db:migrate": "tsx lib/db/migrate.ts", "test": "y"}}'


def test_a_database_that_it_reads_the_address_of_is_a_service_with_its_tables() -> None:
    found = beside_of([COMPOSE], ("DATABASE_URL", "SHOP"), {"package.json": MIGRATES})
    assert [one.name for one in found.servers] == ["db"]
    assert found.env == (("DATABASE_URL", "postgresql://app@{services.db}/postgres"),)
    assert found.before == ("npm", "run", "db:migrate")
    assert found.images == ("qdrant",)


def test_a_server_that_no_variable_leads_to_is_none() -> None:
    assert not beside_of([COMPOSE], (), {}).servers


@pytest.mark.parametrize(
    ("files", "before"),
    [
        ({}, ()),
        ({"package.json": "["}, ()),
        ({"package.json": '{"scripts": ["db:migrate"]}'}, ("npm", "run", "db:migrate")),
        ({"package.json": '{"scripts": 4}'}, ()),
        ({"package.json": "[]"}, ()),
        ({"alembic.ini": "[alembic]"}, (".venv/bin/alembic", "upgrade", "head")),
    ],
)
def test_what_makes_the_tables(files: dict[str, str], before: tuple[str, ...]) -> None:
    assert beside_of([], ("POSTGRES_URL",), files).before == before


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "      - ./db/init.sql:/docker-entrypoint-initdb.d/init.sql:ro",
            ("./db/init.sql", "init.sql"),
        ),
        ('      - "db/init.sql:/docker-entrypoint-initdb.d/01.sql"', ("db/init.sql", "01.sql")),
        ("      - ./db/init:/docker-entrypoint-initdb.d", ("./db/init", "")),
        ("      - ./db/init:/docker-entrypoint-initdb.d/", ("./db/init", "")),
        (
            "      - type: bind\n        source: ./db\n        target: /docker-entrypoint-initdb.d\n",
            ("./db", ""),
        ),
        ("      - pgdata:/var/lib/postgresql/data", None),
        ("      - ./x:/docker-entrypoint-initdb.dx", None),
    ],
)
def test_what_a_compose_file_fills_a_database_with(
    line: str, found: tuple[str, str] | None
) -> None:
    text = f"services:\n  db:\n    image: postgres:16\n    volumes:\n{line}\n"
    assert seeds_in(text) == ((found,) if found else ())


def test_an_empty_database_is_filled_before_each_trial() -> None:
    fill = beside_of([COMPOSE], ("DATABASE_URL",), {}, ["db/1.sql", "db/2.sql"])
    assert fill.before[:4] == ("psql", "-q", "-v", "ON_ERROR_STOP=1")
    assert fill.before[-4:] == ("-f", "db/1.sql", "-f", "db/2.sql")
    assert fill.needs == ("initdb", "postgres", "psql")
    both = beside_of([COMPOSE], ("DATABASE_URL",), {"alembic.ini": "x"}, ["db/a b.sql"])
    assert both.before[:2] == ("sh", "-c")
    assert both.before[2].endswith("-f 'db/a b.sql' && .venv/bin/alembic upgrade head")
    assert not beside_of([COMPOSE], (), {}, ["db/1.sql"]).before


@pytest.mark.parametrize(
    ("sql", "is_one"),
    [
        ("CREATE TABLE a (b int);", True),
        ("create database shop;\n\\c shop\n", False),
        ("CREATE ROLE desk;", False),
        ("  \\connect shop", False),
        ("", False),
    ],
)
def test_what_is_of_the_whole_server_is_left_to_people(sql: str, is_one: bool) -> None:
    assert fills_one_database(sql) is is_one
