"""When to ask GitHub again, and how long to wait before."""

from __future__ import annotations

import json

import pytest

from gateval.adapters.github.transport import ApiResponse, Pause, RetryLimits, Trouble, pause_after

NOW = 1_800_000_000.0
LIMIT, OUTAGE = Trouble.LIMIT, Trouble.OUTAGE


def answer(status: int, said: str = "", **headers: str) -> ApiResponse:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return ApiResponse(status, names, json.dumps({"message": said}))


SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes."


@pytest.mark.parametrize(
    ("got", "attempt", "pause"),
    [
        (None, 1, Pause(OUTAGE, 1)),
        (None, 3, Pause(OUTAGE, 4)),
        (answer(500), 1, Pause(OUTAGE, 1)),
        (answer(502), 2, Pause(OUTAGE, 2)),
        (answer(408), 1, Pause(OUTAGE, 1)),
        (answer(429, retry_after="7"), 1, Pause(LIMIT, 7)),
        (answer(403, retry_after="7"), 1, Pause(LIMIT, 7)),
        # retry-after comes before the reset time
        (
            answer(403, retry_after="7", x_ratelimit_remaining="0", x_ratelimit_reset=f"{NOW:.0f}"),
            1,
            Pause(LIMIT, 7),
        ),
        (
            answer(403, x_ratelimit_remaining="0", x_ratelimit_reset=f"{NOW + 90:.0f}"),
            1,
            Pause(LIMIT, 91),
        ),
        (
            answer(429, x_ratelimit_remaining="0", x_ratelimit_reset=f"{NOW - 90:.0f}"),
            1,
            Pause(LIMIT, 1),
        ),
        # a reset time means nothing while requests remain
        (
            answer(403, SECONDARY, x_ratelimit_remaining="55", x_ratelimit_reset=f"{NOW + 9:.0f}"),
            1,
            Pause(LIMIT, 60),
        ),
        (answer(403, SECONDARY), 2, Pause(LIMIT, 120)),
        (answer(429), 3, Pause(LIMIT, 240)),
        (answer(403, x_ratelimit_remaining="0"), 1, Pause(LIMIT, 60)),
        (answer(429, retry_after="soon"), 1, Pause(LIMIT, 60)),
        (answer(429, retry_after="-5"), 1, Pause(LIMIT, 60)),
        (answer(429, retry_after="nan"), 1, Pause(LIMIT, 60)),
        # what another attempt does not mend
        (answer(403, "Resource not accessible by integration"), 1, None),
        (answer(403, "Must have admin rights", x_ratelimit_remaining="12"), 1, None),
        (answer(401), 1, None),
        (answer(404), 1, None),
        (answer(422, "Validation Failed"), 1, None),
        (answer(307), 1, None),
    ],
)
def test_pauses(got: ApiResponse | None, attempt: int, pause: Pause | None) -> None:
    assert pause_after(got, attempt, RetryLimits(), now=NOW) == pause
