"""What forges and git say when they refuse, word for word, and what a person is told."""

from __future__ import annotations

import pytest

from gateval.adapters.git.record_errors import RefusalKind, refusal

GITHUB_403 = (
    "remote: Permission to acme/shop.git denied to github-actions[bot].\n"
    "fatal: unable to access 'https://github.com/acme/shop/': The requested URL returned error: 403"
)


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (
            "!\trefs/x:refs/heads/y\t[rejected] (fetch first)",
            RefusalKind.RACE,
            "others kept writing",
        ),
        (
            "!\tabc:refs/heads/y\t[rejected] (non-fast-forward)",
            RefusalKind.RACE,
            "others kept writing",
        ),
        ("!\tabc:refs/gateval/history\t[rejected] (stale info)", RefusalKind.RACE, "(stale info)"),
        (
            (
                "!\tabc:refs/heads/y\t[remote rejected] (cannot lock ref 'refs/heads/y': is at 1 but "
                "expected 2)"
            ),
            RefusalKind.RACE,
            "others kept writing",
        ),
        (
            GITHUB_403,
            RefusalKind.FINAL,
            "`contents: write` is missing (Permission to acme/shop.git denied",
        ),
        (
            "remote: Write access to repository not granted.\nfatal: unable to access",
            RefusalKind.FINAL,
            "`contents: write` is missing",
        ),
        (
            "remote: You are not allowed to push code to this project.",
            RefusalKind.FINAL,
            "`contents: write` is missing",
        ),
        (
            "ERROR: The key you are authenticating with has been marked as read only.",
            RefusalKind.FINAL,
            "`contents: write` is missing",
        ),
        (
            "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote",
            RefusalKind.FINAL,
            "no valid token or key",
        ),
        (
            "remote: Invalid username or password.\nfatal: Authentication failed for 'https://x/'",
            RefusalKind.FINAL,
            "no valid token or key (Invalid username or password)",
        ),
        (
            "fatal: could not read Username for 'https://x': terminal prompts disabled",
            RefusalKind.FINAL,
            "no valid token or key",
        ),
        (
            (
                "remote: error: GH006: Protected branch update failed for refs/heads/gateval-audit.\n"
                "!\tabc:refs/heads/y\t[remote rejected] (protected branch hook declined)"
            ),
            RefusalKind.FINAL,
            "a rule protects it from this push (GH006: Protected branch update failed",
        ),
        (
            (
                "remote: - Changes must be made through a pull request.\n"
                "!\tabc:refs/heads/y\t[remote rejected] (push declined due to repository rule violations)"
            ),
            RefusalKind.FINAL,
            "a rule protects it from this push",
        ),
        (
            "!\tabc:refs/heads/y\t[remote rejected] (pre-receive hook declined)",
            RefusalKind.FINAL,
            "a hook of the remote refused it (pre-receive hook declined)",
        ),
        (
            "remote: Repository not found.\nfatal: repository 'https://x/' not found",
            RefusalKind.FINAL,
            "no such repository",
        ),
        (
            "fatal: 'x' does not appear to be a git repository",
            RefusalKind.FINAL,
            "no such repository",
        ),
        ("fatal: transport 'ext' not allowed", RefusalKind.FINAL, "its protocol is not one"),
        (
            "fatal: unable to access 'https://x/': Could not resolve host: x",
            RefusalKind.OUTAGE,
            "was not reached",
        ),
        (
            "fatal: unable to access 'https://x/': The requested URL returned error: 502",
            RefusalKind.OUTAGE,
            "was not reached",
        ),
        ("`git push` did not end within 60 seconds.", RefusalKind.OUTAGE, "was not reached"),
        (
            "error: file write error: No space left on device\nfatal: unpack failed",
            RefusalKind.FINAL,
            "a disk is full",
        ),
        ("fatal: something new", RefusalKind.FINAL, "at https://x: something new."),
        ("", RefusalKind.FINAL, "it gave no reason"),
    ],
)
def test_what_is_said_of_it(said: str, kind: RefusalKind, told: str) -> None:
    found = refusal("write", "refs/heads/gateval-audit", "https://x", said)
    assert found.kind is kind
    assert told in found.error.message
    assert found.error.message.startswith("Gateval cannot write refs/heads/gateval-audit at https:")


def test_what_reading_takes_is_another_permission() -> None:
    found = refusal("read", "refs/heads/gateval-audit", "https://x", GITHUB_403)
    assert found.error.permission == "contents: read"


def test_hostile_words_stay_on_one_harmless_line() -> None:
    said = "remote: \x1b[31m::error::owned\x07\nremote: more\n!\ta:b\t[remote rejected] (hook declined)"
    message = refusal("write", "refs/heads/x", "https://x", said).error.message
    assert message.isprintable()
