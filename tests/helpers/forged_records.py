"""Records as anybody can write them who may push: entries of the audit log, stored verdicts."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from pydantic import JsonValue

from gateval.domain.audit import AuditEvent, AuditKind, hash_of, read_log
from gateval.domain.base import JsonObject, ascii_json
from gateval.domain.label_decision import AuditPerson, LabelUse
from gateval.domain.strict_json import read_json
from gateval.ports.storage import HISTORY
from tests.helpers.github_shop import GitHubShop
from tests.helpers.repo import Repo
from tests.servers.github.state.pull import Pull

BYPASS = "force-eval-bypass"


def push_log(shop: GitHubShop, content: bytes) -> None:
    """Write the audit branch as anybody can who may push."""
    clone = Repo.clone(shop.bare, Path(mkdtemp(dir=shop.folder)) / "forger")
    if "gateval-audit" in shop.branches():
        clone.git("checkout", "--quiet", "gateval-audit")
    else:
        clone.git("checkout", "--quiet", "--orphan", "gateval-audit")
    Path(clone.path / "audit.jsonl").write_bytes(content)
    clone.commit()
    clone.git("push", "--quiet", "--force", "origin", "gateval-audit")


def drop_log(shop: GitHubShop) -> None:
    """Delete the audit branch."""
    Repo.at(shop.bare).git("update-ref", "-d", "refs/heads/gateval-audit")


def chained(content: bytes, body: JsonObject) -> bytes:
    """Return a log with one more line, of any content, with a number and hashes that fit."""
    log = read_log(content)
    entry: JsonObject = {**body, "number": log.lines + 1, "previous": log.newest}
    entry["hash"] = hash_of(entry)
    return content + ascii_json(entry).encode() + b"\n"


def grant(pull: Pull, event: str) -> AuditEvent:
    """A grant for the present head, for the use of the label with this id."""
    return AuditEvent(
        kind=AuditKind.BYPASS_GRANTED,
        at="2026-11-21T13:05:00Z",
        repository="acme/shop",
        pull_request=pull.number,
        head=pull.head_sha,
        label=LabelUse(name=BYPASS, by=AuditPerson(login="ada", role="maintain"), event=event),
    )


def history(shop: GitHubShop) -> bytes:
    """The stored verdicts."""
    return Repo.at(shop.bare).git("show", f"{HISTORY.ref}:{HISTORY.path}")


def newest_record(shop: GitHubShop) -> JsonObject:
    """The newest stored verdict."""
    record = read_json(history(shop).splitlines()[-1].decode())
    assert isinstance(record, dict)
    return record


def push_history(shop: GitHubShop, record: JsonObject, **changes: JsonValue) -> None:
    """Put a stored verdict in the place of all others."""
    clone = Repo(Path(mkdtemp(dir=shop.folder)) / "forger")
    Path(clone.path / HISTORY.path).write_text(ascii_json({**record, **changes}) + "\n")
    clone.commit()
    clone.git("push", "--quiet", "--force", str(shop.bare), f"HEAD:{HISTORY.ref}")
