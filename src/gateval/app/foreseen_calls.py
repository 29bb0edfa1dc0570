"""What judges are going to be asked, and what that costs by the price list, said before it is."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from gateval.adapters.list_prices import ListPrices
from gateval.domain.manifests.evaluation import Calibration, JudgeSpec
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.text import show_usd
from gateval.domain.trials.model_call import Usage
from gateval.gateway.ledger import BYTES_PER_TOKEN, Pricing
from gateval.judging.comparing import Foreseen, foreseen

VERDICT_TOKENS = 300
"""The estimate of what a judge says; the price that is shown rests on it."""


def announce_calls(
    asked: Iterable[tuple[Calibration, JudgeSpec]],
    policy: Policy,
    *,
    compared: bool = False,
    batch: bool = False,
) -> None:
    """Print to standard error what the judges will be asked at the least, by model, at which price.

    `batch`: at the price of batches.
    """
    calls: dict[str, list[Foreseen]] = {}
    for calibration, spec in asked:
        found = foreseen(calibration, spec, compared=compared)
        for model in spec.asked:
            calls.setdefault(model, []).append(found)
    pricing = Pricing(ListPrices(), policy.prices)
    total, unknown = 0.0, []
    for model, each in calls.items():
        many = sum(one.calls for one in each)
        read = sum(one.size for one in each) // BYTES_PER_TOKEN
        usage = Usage(input_tokens=read, output_tokens=many * VERDICT_TOKENS)
        usd = pricing.usage(model, usage, tier="batch" if batch else "").usd
        total += usd or 0
        unknown += [model] if usd is None else []
        price = "nobody knows its price" if usd is None else f"about {show_usd(usd)}"
        said = f"{many:,} calls, about {read:,} tokens in, {usage.output_tokens:,} out, {price}"
        print(f"gateval: {model}: {said}", file=sys.stderr)
    more = f" and what {len(unknown)} without a price take" if unknown else ""
    print(
        f"gateval: at least {show_usd(total)}{more} in all; questions that are asked again come "
        "on top.",
        file=sys.stderr,
    )
