"""Sentences, scripts and words."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from language.identification import NOISE_BELOW, dominant_script, plausibility
from language.sentences import sentences
from language.words import STOP_WORDS, content_stems, fold, squeeze, stem, tokens, unique, visible, words
from tests.unit.language.hostile import TEXTS

PARAGRAPHS = [
    ["Dr. Anna Berg met Mr. Lee in St. Petersburg.", "They talked about J. R. R. Tolkien."],
    ["The U.S. Army left in 1945.", "The U.K. followed."],
    ["He works in the U.S.", "He likes it."],
    ["It opened at 9 a.m. on Monday.", "It closed at 5 p.m.", "The staff went home."],
    ["See fig. 3 for details.", "The second part (cf. sec. 4) is shorter."],
    ['"Is it true?" he asked.', "She nodded."],
    ['He said: "It is over."', "Then he left."],
    ["“We won!”", "That was all he said."],
    ["What is that?!", "Nobody knows..."],
    ["It weighs approx. 5 kg.", "It was made by Smith & Co. in 1901."],
    ["The museum has paintings, prints, etc.", "It is free."],
    ["Paintings, prints, etc. are shown.", "Entry is free."],
    ["Version 2.0 was released.", "It runs on Python 3.11."],
    ["It was No. 5 in the charts.", "No. 1 was ABBA."],
    ["They said no.", "Then they left."],
    ["A third church was built, Trinity-St. Paul's.", "It stands."],
    ["The river is long.[12]", "It flows north.[3][4]", "It is deep."],
    ["In 1894 it burned down.", "1895 saw a new one."],
    ["iPhone sales grew.", "eBay fell."],
    ["Élodie arrived.", "À Paris, she slept."],
    ["He died on Sept. 11, 1703.", "Nobody noticed."],
    ["She holds a Ph.D. in physics.", "Her B.A. is in art."],
    ["It was closed in 1990.", "(It reopened later.)", "Now it thrives."],
    [
        "Every problem in C can be reduced to X.",
        "Thus no problem in C is harder.",
        "It was built by I. M. Pei.",
    ],
    ["Malcolm X. A. Smith spoke about vitamin C.", "No one came."],
    ["I am.", "You are.", "So am I.", "He knows."],
]


@pytest.mark.parametrize("expected", PARAGRAPHS)
def test_a_paragraph_is_split_where_its_sentences_end(expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(" ".join(expected))] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NO LITTER\nopen\r\n\n Dr.\nLee", ["NO LITTER", "open", "Dr.", "Lee"]),
        ("塔は高い。1958年に開業した。", ["塔は高い。", "1958年に開業した。"]),
    ],
)
def test_line_breaks_and_cjk_full_stops_end_a_sentence(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == expected


@given(st.text(alphabet=st.sampled_from("aA .!?\n\"'()[]1é…Dr")))
def test_sentences_contain_all_visible_text_in_order(text: str) -> None:
    result = sentences(text)
    assert all(each.text == text[each.start : each.end] == each.text.strip() != "" for each in result)
    assert all(a.end <= b.start for a, b in pairwise(result))
    assert "".join("".join(each.text.split()) for each in result) == "".join(text.split())


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
def test_text_in_any_script_is_plausible(line: str) -> None:
    assert plausibility(line, 0.9) >= NOISE_BELOW


@pytest.mark.parametrize("line", NOISE.split("//"))
def test_misread_patterns_are_not_plausible(line: str) -> None:
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
def test_script_is_that_of_most_letters(text: str, script: str) -> None:
    assert dominant_script(text) == script


@given(st.text())
def test_words_are_verbatim_and_in_order(text: str) -> None:
    result = tokens(text)
    assert all(word.text == text[word.start : word.end] != "" for word in result)
    assert all(a.end <= b.start for a, b in pairwise(result))
    assert words(text) == tuple(word.folded for word in result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna's café isn't L'Oréal.", ["Anna", "café", "isn't", "L'Oréal"]),
        ("They’re 1,234.50 km off", ["They", "1,234.50", "km", "off"]),
        ("cafe\u0301 au lait", ["cafe\u0301", "au", "lait"]),
        ("A380-800", ["A", "380", "800"]),
        ("", []),
    ],
)
def test_punctuation_and_possessives_are_not_words(text: str, expected: list[str]) -> None:
    assert [word.text for word in tokens(text)] == expected


def test_folding_makes_spelling_variants_equal() -> None:
    assert fold("Straße’s CAFÉ") == fold("STRASSE'S café")


def test_forms_of_a_word_share_its_stem() -> None:
    assert stem("painting") == stem("painted") == stem("paints")


def test_stemming_is_thread_safe() -> None:
    """A stemmer holds its current word in itself; long words are not cached."""
    long = [f"{'x' * 60}{number} generalizations{'running' * (number % 7)}s" for number in range(300)]
    expected = [snowballstemmer.stemmer("english").stemWord(word) for word in long]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: list(map(stem, long)), range(4))) == [expected] * 4


def test_content_words_exclude_function_words() -> None:
    assert content_stems("What is the height of this tower?") == {"height", "tower"}
    assert content_stems("what is it of") == frozenset()


def test_stop_words_are_stored_folded() -> None:
    assert all(word == fold(word) for word in STOP_WORDS)


def test_invisible_characters_are_removed_and_controls_become_spaces() -> None:
    assert visible("a\u200bb\u202ec\x00d\ne") == "abc d\ne"


def test_cleaned_names_are_distinct_and_in_order() -> None:
    assert squeeze("Saint-Émile 2") == "saintemile2"
    assert unique(["B c", "a", "b-C", "A"]) == ["B c", "a"]


@pytest.mark.parametrize("text", TEXTS)
def test_long_malicious_texts_are_split_in_bounded_time(text: str) -> None:
    assert sum(len(each.text) for each in sentences(text)) <= len(text)
    assert len(tokens(text)) <= len(text)
    assert content_stems(text) is not None
