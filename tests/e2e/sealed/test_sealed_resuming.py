"""A job with a sealed Eval that is cut short and run again: nothing sealed is left for that."""

from __future__ import annotations

import io
import signal
import zipfile

from tests.e2e.action.test_resuming import Machine, blob_store, info, service
from tests.e2e.sealed.test_sealed_on_github import shop, told
from tests.helpers.github_shop import GitHubShop
from tests.helpers.sealed import KEY, leaks
from tests.servers.artifacts import ArtifactService
from tests.servers.blob_store import BlobStore

__all__ = ["blob_store", "service", "shop"]


def test_what_is_sealed_is_not_uploaded_and_runs_again_whole(
    shop: GitHubShop, service: ArtifactService, blob_store: BlobStore
) -> None:
    machine = Machine(shop, service, blob_store, 8)
    first = machine.cut(machine.job(), signal.SIGTERM, environ=KEY)
    assert first.code == 130, first.errors
    left = [_files(*one) for one in service.kept.items()]
    assert any(b"support-eval" in one for one in left), "what is public was uploaded"
    assert not any(b"held-out" in one for one in left)
    machine.publish()
    second = machine.job(attempt=2).run_action(inputs={}, **service.environ, **KEY)
    assert second.code == 0, second.log + second.errors
    assert "measured there count, red and green alike" in info(second)["info"]["resumed"]
    (comment,) = machine.pull.comments
    assert "held-out" in comment.body
    left = [_files(*one) for one in service.kept.items()]
    said = [text for one in (first, second) for text in (one.log, one.errors, one.summary)]
    assert leaks([shop.folder], [*left, *told(shop), *said]) == []


def _files(name: str, content: bytes) -> bytes:
    if not name.startswith("gateval-trials"):
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        return b"\n".join(map(files.read, files.namelist()))
