"""Puts the files of a trial's messages in, as its candidate is asked: nobody else holds them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace

from gateval.candidates.base import Exports, TrialRequest
from gateval.domain.manifests.fixtures.attached import Attached, FilePart
from gateval.domain.manifests.fixtures.messages import files_in, with_files
from gateval.errors import RepositoryError


async def with_contents(request: TrialRequest, exports: Exports) -> TrialRequest:
    """Return the request with the content of each file and image. Raises `RepositoryError`."""
    said = (*(one.content for one in request.input.messages), *request.turns)
    oids = {part.content.oid for content in said for _, part in files_in(content) if part.content}
    if not oids:
        return request
    found = await exports.contents(oids)

    def give(part: FilePart) -> FilePart:
        facts = part.content
        return part if facts is None else part.model_copy(update={"content": _held(facts, found)})

    turns = tuple(with_files(turn, give) for turn in request.turns)
    return replace(request, input=request.input.with_files(give), turns=turns)


def _held(facts: Attached, found: Mapping[str, bytes]) -> Attached:
    data = found.get(facts.oid)
    if data is None or hashlib.sha256(data).hexdigest() != facts.digest:
        raise RepositoryError(f"The attached file {facts.name} is not what was planned with.")
    return facts.model_copy(update={"data": base64.b64encode(data).decode("ascii")})
