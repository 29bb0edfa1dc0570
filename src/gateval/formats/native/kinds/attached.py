"""What the reader of fixtures does about files in messages (`pipeline/manifests/attached.py`)."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixtures.messages import Content
from gateval.formats.native.written import canonical
from gateval.formats.yaml.document import Document, write_path


def plain_content(content: Content) -> JsonValue:
    """Return a content as it is written."""
    return content if isinstance(content, str) else [canonical(part) for part in content]


def with_file_places(fixture: Fixture, document: Document) -> Fixture:
    """Return the fixture with the places of its files."""
    files = {write_path(path): document.place(path) for path, _ in fixture.attached()}
    return fixture.model_copy(update={"places": fixture.places | files}) if files else fixture
