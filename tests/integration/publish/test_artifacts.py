"""Artifacts that somebody made up: archives that are none, or are larger than they look."""

from __future__ import annotations

import io
import resource
import zipfile
from collections.abc import Callable

import pytest

from tests.integration.publish.conftest import Shop
from tests.servers.blob_store import BlobStore, archive
from tests.servers.github.state.actions import Artifact, WorkflowRun

NAME = "part.v1.json"


def packed(content: bytes, how: int, name: str = NAME) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as target:
        target.writestr(name, content)
    return made.getvalue()


def damaged(content: bytes, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    whole = bytearray(packed(content, how))
    begin = 30 + len(NAME)
    whole[begin : begin + 8] = b"\xff" * 8
    return bytes(whole)


BOMB = b"0" * (120 << 20)
FORGED: dict[str, Callable[[], bytes]] = {
    "no archive": lambda: b"PK nothing",
    "a bomb": lambda: packed(BOMB, zipfile.ZIP_DEFLATED),
    "a bomb of bzip2": lambda: packed(BOMB, zipfile.ZIP_BZIP2),
    "a bomb of lzma": lambda: packed(BOMB, zipfile.ZIP_LZMA),
    "no deflated data": lambda: damaged(b"abcdefgh" * 9),
    "no data of lzma": lambda: damaged(b"abcdefgh" * 9, zipfile.ZIP_LZMA),
    "another name": lambda: packed(b"{}", zipfile.ZIP_DEFLATED, f"../{NAME}"),
    "a name that is no UTF-8": lambda: packed(b"{}", 0, "é").replace("é".encode(), b"\xff\xff"),
    "an offset below none": lambda: packed(b"{}", 0)[60:],
}


@pytest.mark.parametrize("what", FORGED, ids=[one.replace(" ", "-") for one in FORGED])
def test_a_forged_archive_holds_nothing(what: str, shop: Shop) -> None:
    with BlobStore() as store:
        content = FORGED[what]()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run = WorkflowRun(9, "push", "main", shop.pull.head_sha, ".github/workflows/x.yml")
        run.artifacts.append(Artifact(1, "forged", content, store.put(content)))
        fine = archive({NAME: b"{}"})
        run.artifacts.append(Artifact(2, "fine", fine, store.put(fine)))
        shop.repo.workflow_runs[9] = run
        forge = shop.forge(actions="read", contents="read")
        (forged,), (plain,) = forge.artifacts(9, "forged"), forge.artifacts(9, "fine")
        assert forge.artifact_file(forged, NAME, limit=1 << 20) is None
        assert forge.artifact_file(plain, NAME, limit=1 << 20) == b"{}"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024
