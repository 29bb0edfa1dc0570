"""Files of a repository at a revision."""

from __future__ import annotations

import base64

from tests.servers.github.access import Needs
from tests.servers.github.http import Call, Reply, not_found
from tests.servers.github.routing import route

MOST_BYTES = 1024 * 1024


@route("GET", "R/contents/{path}", Needs("contents=read", public=True))
def get_content(call: Call) -> Reply:
    """A file with its content, if that is no larger than 1 MB."""
    repo, path = call.repo, call.params["path"]
    commit = repo.resolve(call.request.query.get("ref", repo.default_branch))
    entry = repo.git.blob(commit, path) if repo.git and commit else None
    if entry is None:
        raise not_found()
    oid, data = entry
    url = f"{call.links.repo(repo)}/contents/{path}?ref={commit}"
    git_url = f"{call.links.repo(repo)}/git/blobs/{oid}"
    html_url = f"{call.links.page(repo)}/blob/{commit}/{path}"
    small = len(data) <= MOST_BYTES
    return Reply(
        200,
        {
            "type": "file",
            "encoding": "base64" if small else "none",
            "size": len(data),
            "name": path.rpartition("/")[2],
            "path": path,
            "content": base64.encodebytes(data).decode() if small else "",
            "sha": oid,
            "url": url,
            "git_url": git_url,
            "html_url": html_url,
            "download_url": None,
            "_links": {"self": url, "git": git_url, "html": html_url},
        },
    )
