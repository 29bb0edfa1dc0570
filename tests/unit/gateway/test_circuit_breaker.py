"""A provider counts as down only after nothing got through for long enough."""

from __future__ import annotations

from gateval.gateway.upstream.circuit_breaker import CircuitBreaker


class Hands:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_provider_is_lost_after_failures_alone_and_found_again() -> None:
    clock = Hands()
    breaker = CircuitBreaker(10, clock)
    assert not breaker.lost(), "nothing was asked yet"
    breaker.failed()
    clock.now += 9
    breaker.failed()
    assert not breaker.lost()
    clock.now += 1
    assert breaker.lost(), "ten seconds since the first failure"
    breaker.answered()
    assert not breaker.lost()
    clock.now += 50
    breaker.failed()
    assert not breaker.lost(), "silence without calls is no failure"


def test_without_patience_nothing_is_tried_again() -> None:
    breaker = CircuitBreaker(0, Hands())
    breaker.failed()
    assert breaker.lost()
