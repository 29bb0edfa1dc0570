"""What base trials made now have to say before stored ones make a fixture regressed.

Stored trials may be of a model as it was. This only takes blocks away, so the bound on false ones
holds as it is.
"""

from __future__ import annotations

from gateval.domain.statistics.walk import Count

FRESH = 3
"""Base trials made beside head without which nothing stored makes a fixture regressed."""


def borne_out(fresh: Count, head: Count) -> bool:
    """Whether base, as it is now, does better than head does; never without a trial of each."""
    return bool(fresh.trials and head.trials) and fresh.rate > head.rate
