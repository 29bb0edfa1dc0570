"""A provider counts as down only after nothing got through for long enough."""

from __future__ import annotations

from gateval.gateway.upstream.retry import CircuitBreaker


class Hands:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def attempt(breaker: CircuitBreaker) -> float:
    began = breaker.begin()
    assert began is not None
    return began


def test_a_model_is_lost_after_failures_alone_and_found_again() -> None:
    clock = Hands()
    breaker = CircuitBreaker(10, clock)
    assert not breaker.lost(), "nothing was asked yet"
    breaker.failed(attempt(breaker))
    clock.now += 9
    breaker.failed(attempt(breaker))
    assert not breaker.lost()
    clock.now += 1
    assert breaker.lost(), "ten seconds since the first failure"
    attempt(breaker)
    breaker.answered()
    assert not breaker.lost()
    clock.now += 50
    breaker.failed(attempt(breaker))
    assert not breaker.lost(), "silence without calls is no failure"


def test_a_hang_counts_from_when_it_began() -> None:
    clock = Hands()
    breaker = CircuitBreaker(100, clock)
    hanging = attempt(breaker)
    clock.now += 60
    breaker.given_up(hanging)
    clock.now += 40
    assert breaker.lost()


def test_who_leaves_soon_says_nothing() -> None:
    clock = Hands()
    breaker = CircuitBreaker(5, clock)
    began = attempt(breaker)
    clock.now += 9
    breaker.given_up(began)
    clock.now += 99
    assert not breaker.lost()


def test_a_lost_model_is_asked_by_one_call_at_a_time() -> None:
    clock = Hands()
    breaker = CircuitBreaker(5, clock)
    breaker.failed(attempt(breaker))
    clock.now += 5
    probe = attempt(breaker)
    assert breaker.begin() is None, "the others fail at once"
    breaker.failed(probe)
    attempt(breaker)
    breaker.answered()
    attempt(breaker)
    attempt(breaker)


def test_without_patience_nothing_is_tried_again() -> None:
    breaker = CircuitBreaker(0, Hands())
    breaker.failed(attempt(breaker))
    assert breaker.lost()
