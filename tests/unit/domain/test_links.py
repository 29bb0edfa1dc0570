from __future__ import annotations

import time

import pytest

from gateval.domain.tree import MOST_HOPS, PATH_LIMIT, TEXT_LIMIT, check_links, walk_links
from gateval.errors import RepositoryError


@pytest.mark.parametrize(
    ("path", "targets", "expected"),
    [
        ("a/b", {}, ([], "a/b")),
        ("./a//b/../c", {}, ([], "a/c")),
        ("", {}, ([], "")),
        ("../a", {}, ([], None)),
        ("a", {"a": "b/c"}, (["a"], "b/c")),
        ("a/x", {"a": "b", "b": "d/e"}, (["a", "b"], "d/e/x")),
        ("a/../x", {"a": "d/e"}, (["a"], "d/x")),
        ("d/up/x", {"d/up": ".."}, (["d/up"], "x")),
        ("a", {"a": "/b"}, (["a"], None)),
        ("a", {"a": "../b"}, (["a"], None)),
        ("a", {"a": "b" * (PATH_LIMIT + 1)}, (["a"], None)),
        ("a", {"a": "a"}, (["a"] * (MOST_HOPS + 1), None)),
        ("a", {"a": "./a/x"}, (["a"] * (MOST_HOPS + 1), None)),
    ],
)
def test_a_path_is_followed_over_links(
    path: str, targets: dict[str, str], expected: tuple[list[str], str | None]
) -> None:
    assert walk_links(path, targets) == expected


@pytest.mark.parametrize(
    "targets",
    [
        {},
        {"a": "b"},
        {"a": "."},
        {"a/b": ".."},
        {"a/b/c": "../../d"},
        {"a": "dangling/../x"},
        {"a": ".", "b": "a/a/a/c"},
        {"deep/here": "../up", "up": "deep"},
        {"x": "sub//./file"},
        {f"l{i}": f"l{i + 1}" for i in range(MOST_HOPS - 1)},
    ],
)
def test_links_that_stay_inside_are_fine(targets: dict[str, str]) -> None:
    check_links(targets)


@pytest.mark.parametrize(
    ("targets", "named", "why"),
    [
        ({"a": "/etc/passwd"}, "a", "does not hold a relative path"),
        ({"a": ""}, "a", "does not hold a relative path"),
        ({"a": "x\0y"}, "a", "does not hold a relative path"),
        ({"a": ".."}, "a", "leads out of the repository"),
        ({"a/b": "../../x"}, "a/b", "leads out of the repository"),
        ({"a": "missing/../../x"}, "a", "leads out of the repository"),
        ({"a": ".", "b": "a/../.."}, "b", "leads out of the repository"),
        ({"d/a": "..", "b": "d/a/../x"}, "b", "leads out of the repository"),
        ({"d/e/up": "../..", "b": "d/e/up/../x"}, "b", "leads out of the repository"),
        ({"a": "b", "b": "c", "c": "../x"}, "c", "leads out of the repository"),
        ({"a": "a"}, "a", "leads through too many"),
        ({"a": "b", "b": "a"}, "", "leads through too many"),
        ({"a": "./a/x"}, "a", "leads through too many"),
        ({f"l{i}": f"l{i + 1}" for i in range(MOST_HOPS + 1)}, "", "leads through too many"),
        ({f"l{i}": f"l{i - 1}" for i in range(1, MOST_HOPS + 2)} | {"l0": "f"}, "", "too many"),
        ({"a": "new\nline/../.."}, "a", "leads out of the repository"),
    ],
)
def test_links_that_lead_out_are_refused_by_name(
    targets: dict[str, str], named: str, why: str
) -> None:
    with pytest.raises(RepositoryError, match=why) as caught:
        check_links(targets)
    assert f"The symbolic link {named}" in caught.value.message
    assert caught.value.message.isprintable()


def test_doubling_chains_end_at_once() -> None:
    doubling = {f"l{i}": f"l{i + 1}/../l{i + 1}" for i in range(35)}
    with pytest.raises(RepositoryError, match="too many other links"):
        check_links(doubling)


def test_the_longest_text_is_checked_in_bounded_time() -> None:
    target = "a/" * 2_000 + "x"
    links = {f"l{i}": target for i in range(TEXT_LIMIT // len(target))}
    start = time.process_time()
    check_links(links)
    assert time.process_time() - start < 10
    with pytest.raises(RepositoryError, match="too many to be checked"):
        check_links({**links, "one": target, "more": target})
