"""Another repository on a server of git over TLS, and the gate config that allows its host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateval.errors import CA_VARIABLE
from tests.helpers.certificates import self_signed
from tests.helpers.repo import Repo
from tests.servers.git_http import GitServer


@dataclass
class Elsewhere:
    """A repository `acme/rules` of somebody else, as `url` serves it; `environ` reaches it."""

    repo: Repo
    server: GitServer
    url: str
    environ: dict[str, str]

    @property
    def host(self) -> str:
        """The host as `policy.sources` names it."""
        return self.url.removeprefix("https://")

    @property
    def config(self) -> str:
        """A gate config that allows this host."""
        return f"policy: {{sources: ['{self.host}']}}\n"

    def blob(self, path: str, ref: str = "main") -> str:
        """The URL of a file in it."""
        return f"{self.url}/acme/rules/blob/{ref}/{path}"


@contextmanager
def elsewhere(folder: Path, files: dict[str, str]) -> Iterator[Elsewhere]:
    """Serve a repository with these files; its caches and trust are below `folder`."""
    repo = Repo(folder / "served" / "acme" / "rules.git")
    for path, text in files.items():
        repo.write(path, text)
    repo.commit()
    repo.git("config", "uploadpack.allowFilter", "true")
    certificate = self_signed(folder)
    with GitServer(folder / "served", certificate=certificate) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        environ = {
            "PATH": repo.env["PATH"],
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            CA_VARIABLE: str(certificate),
        }
        yield Elsewhere(repo, server, url, environ)
