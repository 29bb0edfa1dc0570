"""A provider counts as down only after nothing got through for long enough."""

from __future__ import annotations

from gateval.gateway.upstream.circuit_breaker import Pulse


class Hands:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_provider_is_lost_after_failures_alone_and_found_again() -> None:
    clock = Hands()
    pulse = Pulse(10, clock)
    assert not pulse.lost(), "nothing was asked yet"
    pulse.failed()
    clock.now += 9
    pulse.failed()
    assert not pulse.lost()
    clock.now += 1
    assert pulse.lost(), "ten seconds since the first failure"
    pulse.answered()
    assert not pulse.lost()
    clock.now += 50
    pulse.failed()
    assert not pulse.lost(), "silence without calls is no failure"


def test_without_patience_nothing_is_tried_again() -> None:
    pulse = Pulse(0, Hands())
    pulse.failed()
    assert pulse.lost()
