"""What an agent needs beside it, by its compose file and its variables."""

from __future__ import annotations

import pytest

from gateval.domain.setup.beside import beside_of

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
