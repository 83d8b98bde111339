"""Clean untrusted text and format figures for display."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.reporting.formatting import Unit, clean, format_figure, short


@given(st.text(max_size=400))
def test_nothing_that_is_shown_is_invisible_or_turns_the_line(text: str) -> None:
    for letter in clean(text, 100) + short(text, 40):
        assert letter in "\u200c\u200d" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn")


@given(st.text(max_size=2_000))
def test_what_is_shown_ends(text: str) -> None:
    assert len(clean(text, 50)) <= 50 + len("… (2,000 characters)")
    assert len(short(text, 50)) <= 50
    assert "\n" not in clean(text) + short(text)


def test_ordinary_words_stay_as_they_are() -> None:
    text = "Wer schrieb „Émile“? 谁写的? \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d🚀"
    assert clean(text) == text


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (0.3456, Unit.SHARE, "34.6 %"),
        (-0.0501, Unit.SCORE, "−0.050"),
        (-0.0001, Unit.SCORE, "0.000"),
        (0.25, Unit.SCORE, "+0.250"),
        (340.4, Unit.MILLISECONDS, "340 ms"),
        (1234.0, Unit.MILLISECONDS, "1.23 s"),
        (float("nan"), Unit.SHARE, "–"),
    ],
)
def test_figures_are_written_with_their_units(value: float, unit: Unit, told: str) -> None:
    assert format_figure(value, unit) == told
