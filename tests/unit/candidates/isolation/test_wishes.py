"""The settings of isolation: defaults, values, and sentences for what cannot be."""

from __future__ import annotations

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits, read_limits
from gateval.errors import UsageError


def test_nothing_said_is_the_default() -> None:
    assert read_limits({}) == read_limits({"GATEVAL_CANDIDATE_USERS": " "}) == ResourceLimits()


def test_all_can_be_said() -> None:
    assert read_limits(
        {
            "GATEVAL_CANDIDATE_USERS": "70000-80000",
            "GATEVAL_CANDIDATE_MEMORY_MIB": "512",
            "GATEVAL_CANDIDATE_DISK_MIB": "100",
            "GATEVAL_CANDIDATE_FILES": "256",
            "GATEVAL_CANDIDATE_PROCESSES": "64",
        }
    ) == ResourceLimits(
        users=(70_000, 80_000), memory_mib=512, disk_mib=100, files=256, processes=64
    )
    assert read_limits({"GATEVAL_CANDIDATE_USERS": "none"}) == ResourceLimits(own_users=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GATEVAL_CANDIDATE_USERS", value)
        for value in ("0-70000", "5-6", "9-1", "1000", "a-b", "1-99999999999", "-1-500", "None")
    ]
    + [
        ("GATEVAL_CANDIDATE_MEMORY_MIB", "1"),
        ("GATEVAL_CANDIDATE_MEMORY_MIB", "4 GiB"),
        ("GATEVAL_CANDIDATE_DISK_MIB", "-1"),
        ("GATEVAL_CANDIDATE_FILES", "3"),
        ("GATEVAL_CANDIDATE_PROCESSES", "1"),
        ("GATEVAL_CANDIDATE_PROCESSES", "٣٢"),
    ],
)
def test_what_cannot_be_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        read_limits({name: value})
    assert caught.value.hint
