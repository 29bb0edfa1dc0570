"""A parcel desk that is a function. It has never heard of Gateval."""

import re

PARCELS = {"P-1001": "in Lyon"}


def answer(question: str) -> str:
    """Say where a parcel is."""
    found = re.search(r"P-\d+", question)
    if found is None:
        return "Which number does your parcel have?"
    return f"Your parcel {found[0]} is {PARCELS.get(found[0], 'not known here')}."
