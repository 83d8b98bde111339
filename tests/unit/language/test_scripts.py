"""Print is told from noise, scripts and languages from each other, without a dictionary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.scripts import NOISE_BELOW, dominant_script, plausibility

PRINT = (
    "Mairie du 1er//NO LITTER//EXIT 12B//Straße//東京タワー//WC//P//HTML 5//www.example.com//"
    "Coffee ........ 3.50//Knightsbridge//CAFÉ//Москва//H2O//MP3//3.50 €//12//Angstschweiß//St. John's//"
    "McDonald's//iPhone 14 Pro//ÉCOLE PRIMAIRE//10:00 - 18:00//A380//XVII//C&A//AAA//50% OFF!//NYC//"
    "Schmidt//rhythm//Przybyszewski//T-Rex//Nr. 5//500g//Ελλάδα//서울"
)
NOISE = (
    "十十十//|||lI//aaaa//T3x~¬//lIlIlI//l//~~//一//xcvbnm//wrtpl//|//·°·//aBcDeF//Рa//ll//Ill//===//j;k|//口口//"
    "0O0O0O//sdfghjkl//¬¬ a//r l t s n////   "
)


@pytest.mark.parametrize("line", PRINT.split("//"))
def test_print_in_any_script_is_plausible(line: str) -> None:
    assert plausibility(line, 0.9) >= NOISE_BELOW


@pytest.mark.parametrize("line", NOISE.split("//"))
def test_what_patterns_are_misread_as_is_not(line: str) -> None:
    assert plausibility(line, 0.9) < NOISE_BELOW


@given(st.text(), st.floats(-1, 2))
def test_plausibility_is_a_share_and_grows_with_confidence(line: str, confidence: float) -> None:
    assert 0.0 <= plausibility(line, confidence) <= plausibility(line, 1.0) <= 1.0


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("What does 東京 mean?", "LATIN"),
        ("Москва 2", "CYRILLIC"),
        ("北京", "HAN"),
        ("123", ""),
        ("タワー", "KATAKANA"),
    ],
)
def test_the_script_of_most_letters_counts(text: str, script: str) -> None:
    assert dominant_script(text) == script
