"""Tokens become money: the price list of `genai-prices` (ADR 34).

Loading it takes up to half a second and 60 MB, so a run in which no provider bills anything never
does, and others do before their first trial: a wait in the middle of one would count as its time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Any

from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import USD_DIGITS

_PROVIDERS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "google": "google",
    "azure": "azure",
    "openrouter": "openrouter",
}
"""Our providers that the list knows, and their names in it. Servers of one's own have no price."""


class ListPrices:
    """Fulfils `ports.prices.Prices` from the list that is installed; it asks nobody for another."""

    def load(self) -> None:
        """Load the list; see `Prices`."""
        _list()

    def price(
        self, model: str, usage: Usage, *, answered: str = "", tier: str = ""
    ) -> float | None:
        """Return the price; see `Prices`.

        What answered is looked up before what was asked: a name without a date may stand for
        several models with prices of their own.
        """
        provider, _, asked = model.partition("/")
        known = _PROVIDERS.get(provider)
        if known is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        found = _first_known(known, (answered, asked), usage, tier)
        return None if found is None else round(float(found), USD_DIGITS)


@lru_cache(maxsize=1024)  # the ledger asks, and then the reply
def _first_known(provider: str, names: tuple[str, ...], usage: Usage, tier: str) -> Decimal | None:
    listed = [name for name in names if name and _is_listed(provider, name)]
    if not listed:
        return None
    prices = _list()
    counted = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    key = "processing" if tier == "batch" else "service_tier"  # as the list calls them
    context = {key: tier} if tier else None
    for name in listed:
        try:
            found = prices.calc_price(counted, name, provider_id=provider, price_context=context)
        except (LookupError, ValueError):
            continue
        total: Decimal = found.total_price
        return total
    return None


@lru_cache(maxsize=1024)
def _is_listed(provider: str, name: str) -> bool:
    """Look a name up once: for one that it lacks the list tries all its patterns each time."""
    from genai_prices.data_snapshot import get_snapshot

    _list()
    try:
        get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return False
    return True


def _list() -> Any:
    """Import the list. Python does that once, and who comes second waits for who came first.

    With `httpx2` it would ask for newer prices, which we never have it do.
    """
    with _loaded_later("httpx2"):
        import genai_prices
        from genai_prices import data  # the figures, which are large

    del data
    return genai_prices


class _Finder:
    """Finds some modules as Python's own finder does, and has them load at the first look.

    They are what a library imports and does not need for us.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module is loaded, None for others; see `importlib.abc.MetaPathFinder`."""
        spec = PathFinder.find_spec(name, path, target) if name in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def _loaded_later(*names: str) -> Iterator[None]:
    """Have modules of these names that the body imports load when an attribute is asked for."""
    finder = _Finder(frozenset(names))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
