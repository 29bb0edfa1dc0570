"""Cutting below a limit, between whole pieces only."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateval.render.comment import CommentBlock, fit, size


def part(count: int, width: int = 100, **options: object) -> CommentBlock[int]:
    fields: dict[str, object] = {
        "noun": "thing",
        "opening": "### Things\n\n",
        "items": range(count),
        "full": lambda n: f"<{n:0{width - 2}}>",
        **options,
    }
    return CommentBlock(**fields)  # type: ignore[arg-type] # options are fields of Part


def brief(n: int) -> str:
    return f"- {n}"


def test_size_counts_as_github_might_at_worst() -> None:
    assert size("aé漢😀") == 5


def test_what_fits_is_whole() -> None:
    fitted = fit([part(3)], 10_000)

    assert fitted.left_out == ()
    assert fitted.texts[0].count("<") == 3


def test_what_does_not_fit_is_counted() -> None:
    fitted = fit([part(100)], 2_000)

    shown = fitted.texts[0].count("<")
    assert 10 <= shown < 20
    assert fitted.left_out == (f"{100 - shown} things",)
    assert fitted.texts[0].endswith(f"… and {100 - shown} more.")


def test_pieces_beyond_the_first_become_folded_lines() -> None:
    fitted = fit([part(1000, brief=brief, most=2)], 3_000)

    text = fitted.texts[0]
    lines = text.count("\n- ") - 1
    assert text.count("<0") == 2
    assert "<details><summary>998 more</summary>\n\n- 2\n- 3\n" in text
    assert text.endswith(f"- … and {998 - lines} more.\n\n</details>")
    assert fitted.left_out == (f"{998 - lines} things",)


def test_a_part_of_which_nothing_fits_is_left_out_and_named() -> None:
    fitted = fit([part(1, 5_000), part(2)], 3_000)

    assert len(fitted.texts) == 1
    assert fitted.left_out == ("1 thing",)


def test_room_that_a_part_does_not_need_goes_to_the_next() -> None:
    fitted = fit([part(1, weight=100), part(25)], 4_000)
    assert fitted.left_out == ()


def test_room_that_the_parts_after_it_do_not_need_is_a_part_s_own() -> None:
    fitted = fit([part(30, weight=1), part(1, weight=100)], 4_000)
    assert fitted.left_out == ()


def test_what_is_cut_fills_its_room() -> None:
    text = "\n\n".join(fit([part(900), part(900, weight=3), part(2)], 20_000).texts)
    assert 20_000 - 1_000 <= size(text) <= 20_000


def test_a_piece_counts_for_what_it_holds() -> None:
    fitted = fit([part(100, holds=lambda n: n)], 2_000)
    shown = fitted.texts[0].count("<")
    assert fitted.left_out == (f"{sum(range(shown, 100)):,} things",)


@given(
    limit=st.integers(1_000, 20_000),
    counts=st.lists(st.tuples(st.integers(1, 60), st.integers(3, 900), st.booleans()), max_size=6),
)
def test_all_parts_together_stay_below_the_limit(
    limit: int, counts: list[tuple[int, int, bool]]
) -> None:
    parts = [part(n, w, brief=brief if short else None, most=5) for n, w, short in counts]
    fitted = fit(parts, limit)

    assert size("\n\n".join(fitted.texts)) <= limit
