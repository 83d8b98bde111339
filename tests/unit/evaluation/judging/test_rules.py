"""The rule judge on typed truths."""

from typing import Any

import pytest

from evaluation.data.model import Truth
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import truncate
from evaluation.judging.verdicts import Case


def truth(kind: str, value: Any, *accepted: str, **more: Any) -> Truth:
    fields = {"interaction_id": "i", "answer_type": kind, "value": value, "accepted": accepted, **more}
    return Truth.model_validate(fields)


def verdict(answer: str, true: Truth, question: str = "what is it?", gold: str = "", **more: bool) -> str:
    return judge_by_rules(Case("i", question, gold, truncate(answer), true, **more)).verdict.value


GRAMS = truth("number", 250, "250 g", "250", unit="g")
PAGES = truth("number", 1234, "1,234 pages", "1234", unit="pages")
WIDTH = truth("number", 12, "12 cm", "12", unit="cm")
EUROS = truth("number", 4.5, "€4.50", "4.50 euros", unit="EUR")
SHARE = truth("number", 1.375, "11/8", "1.375", unit="")


@pytest.mark.parametrize(
    ("answer", "true"),
    [
        ("1,234", PAGES),
        ("1\u202f234 pages", PAGES),
        ("The 2019 paperback has 1,234 pages.", PAGES),
        ("120 mm", WIDTH),
        ("about 4.7 inches", WIDTH),
        ("12", WIDTH),
        ("0.25 kg", GRAMS),
        ("8.8 oz", GRAMS),
        ("€4.50", EUROS),
        ("4,50 €", EUROS),
        ("The 500 g pack costs 4.50.", EUROS),
        ("11/8", SHARE),
        ("twelve", truth("number", 12, "12", unit="drinks")),
        ("There are twenty-one of them.", truth("number", 21, "21", unit="cards")),
        ("two weeks", truth("number", 14, "14 days", unit="days")),
        ("20 m/s", truth("number", 72, "72 km/h", unit="km/h")),
        ("13.3 g per 100 g", truth("number", 13.3, "13.3 g", unit="g")),
        ("1.2 million people", truth("number", 1_200_000, unit="people")),
        ("8.2 billion people", truth("number", 8_200_000_000, unit="people")),
        ("not 300 but 1234 pages", PAGES),
        ("-5", truth("number", -5, "-5", unit="")),
    ],
)
def test_a_number_counts_in_any_spelling_and_unit(answer: str, true: Truth) -> None:
    assert verdict(answer, true) == "correct"


@pytest.mark.parametrize(
    ("answer", "true"),
    [
        ("1235 pages", PAGES),
        ("12 inches", WIDTH),
        ("120", WIDTH),
        ("250 ml", GRAMS),
        ("$4.50", EUROS),
        ("no idea what to say", PAGES),
        ("It does not have 1234 pages.", PAGES),
        ("312 pages or 1234 pages", PAGES),
        ("€3.00, €4.50, €6.00, €7.50", EUROS),
        ("the XR-250 model", GRAMS),
        ("published in the 1234s", PAGES),
        ("the 12th", truth("number", 12, "12", unit="")),
        ("1234 pages, an older page says 1200 pages", PAGES.model_copy(update={"must_not": ("1200 pages",)})),
    ],
)
def test_a_number_that_differs_is_wrong(answer: str, true: Truth) -> None:
    assert verdict(answer, true) == "incorrect"


def test_number_from_the_question_is_not_an_answer() -> None:
    true = truth("number", 3, "3", unit="")
    assert verdict("The answer to number 3 is 12.", true, "what's the answer to number 3?") == "incorrect"
    assert verdict("The answer to number 3 is 3.", true, "what's the answer to number 3?") == "correct"


DAY = truth("date", "1987-03-12", "12 March 1987")
YEAR = truth("date", "1987", "1987")


@pytest.mark.parametrize(
    "answer",
    [
        "12 March 1987", "March 12, 1987", "on the 12th of March, 1987", "1987-03-12", "12.03.1987",
        "12/3/1987", "3/12/1987", "Mar. 12 1987", "12 mar 1987", "She was born on 12 March 1987 in Selm.",
    ],
)  # fmt: skip
def test_a_date_counts_in_any_format(answer: str) -> None:
    assert verdict(answer, DAY) == "correct"
    assert verdict(answer, YEAR) == "correct"


@pytest.mark.parametrize(
    "answer", ["1987", "March 1987", "13 March 1987", "12 March", "12 March 1988", "soon"]
)
def test_a_date_with_a_part_missing_or_different_is_wrong(answer: str) -> None:
    assert verdict(answer, DAY) == "incorrect"


@pytest.mark.parametrize("answer", ["1986", "the 1987s", "1986 or 1987", "not in 1987", "1987 pages? 19870"])
def test_year_counts_only_as_a_year(answer: str) -> None:
    expected = "correct" if answer.startswith("1987 ") else "incorrect"
    assert verdict(answer, YEAR) == expected


BOOK = truth("name", "The Salt Road", "The Salt Road", must_not=("The Salt Road II", "The Glass Road"))
PERSON = truth("name", "Mira Hölm", "Mira Hölm", "Hölm")
MODEL = truth("text", "XR-4501", "XR-4501", "XR 4501")


@pytest.mark.parametrize(
    ("answer", "true"),
    [
        ("the salt road", BOOK),
        ("Salt Road", BOOK),
        ("It's The Salt Road, not The Glass Road.", BOOK),
        ("Mira Holm", PERSON),
        ("XR 4501", MODEL),
        ("XR4501", MODEL),
        ("Mira’s Kitchen", truth("name", "Mira's Kitchen", "Mira's Kitchen")),
        ("Brand and Sons", truth("name", "Brand & Sons", "Brand & Sons")),
        ("9 am", truth("text", "09:00", "09:00", "9 am", "9:00")),
        ("09:00-18:00", truth("text", "9-18", "09:00 – 18:00")),
        ("40 × 60 cm", truth("text", "", "40 cm × 60 cm", "40 × 60 cm", "40x60")),
    ],
)
def test_a_name_is_found_in_any_spelling(answer: str, true: Truth) -> None:
    assert verdict(answer, true) == "correct"


@pytest.mark.parametrize(
    ("answer", "true"),
    [
        ("The Glass Road", BOOK),
        ("The Salt Road II", BOOK),
        ("The Salt Road and The Glass Road", BOOK),
        ("It is not The Salt Road.", BOOK),
        ("XR-4502", MODEL),
        ("Mara Halm", PERSON),
        ("A Garden for Roland", truth("name", "Poland", "Poland")),
        ("6 am", truth("text", "18:00", "18:00", "6 pm")),
        ("24 players", truth("text", "2-4", "2–4 players", "2-4")),
    ],
)
def test_another_name_is_wrong(answer: str, true: Truth) -> None:
    assert verdict(answer, true) == "incorrect"


RIVALS = truth(
    "name", "Salt Road", "The Salt Road", "this one",
    contrast=("The Glass Road",), must_not=("The Glass Road is longer",),
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The Salt Road is longer: 312 pages against 200 for The Glass Road.", "correct"),
        ("The Salt Road", "correct"),
        ("This one is longer than The Glass Road.", "correct"),
        ("Unlike The Glass Road, The Salt Road has 312 pages.", "correct"),
        ("The Glass Road is longer than The Salt Road.", "incorrect"),
        ("The Glass Road has 200 pages and The Salt Road 312.", "incorrect"),
    ],
)
def test_comparison_needs_the_right_choice(answer: str, expected: str) -> None:
    assert verdict(answer, RIVALS, "is this longer than The Glass Road?") == expected


MENU = truth("set", ["Nettle Tea", "Cider", "Plum Soda"], "Nettle Tea", "Cider", must_not=("Red Wine",))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Cider, Plum Soda and Nettle Tea", "correct"),
        ("Nettle Tea and Cider", "incorrect"),
        ("Nettle Tea, Cider, Plum Soda, Red Wine", "incorrect"),
        ("Nettle Tea, Cider and Plum Soda, but not the Red Wine", "correct"),
    ],
)
def test_a_set_needs_every_member_in_any_order(answer: str, expected: str) -> None:
    assert verdict(answer, MENU) == expected


OPEN = truth("boolean", True, "yes", must_not=("no",))
SHUT = truth("boolean", False, "no", must_not=("yes", "is open"))


@pytest.mark.parametrize(
    ("answer", "true", "expected"),
    [
        ("Yes.", OPEN, "correct"),
        ("The answer is yes", OPEN, "correct"),
        ("No, it is closed.", OPEN, "incorrect"),
        ("It opens at nine.", OPEN, "incorrect"),
        ("No, on Sunday it is closed.", SHUT, "correct"),
        ("Nobody knows", SHUT, "incorrect"),
        ("No, the shop is open.", SHUT, "incorrect"),
        ("Yes and no", SHUT, "incorrect"),
    ],
)
def test_yes_or_no_starts_the_answer(answer: str, true: Truth, expected: str) -> None:
    assert verdict(answer, true) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know", "I don’t know.", "i dont know", "Sorry, I do not know who wrote it.",
        "I  DON'T\nKNOW!", "", "  ", "I don´t know",
    ],
)  # fmt: skip
def test_a_refusal_is_missing_whatever_its_punctuation(answer: str) -> None:
    for true in (PAGES, BOOK, MENU, OPEN, DAY, truth("unanswerable", None, "I don't know")):
        assert verdict(answer, true) == "missing"


def test_abstentions_and_exact_answers_need_no_model() -> None:
    assert verdict("1234", PAGES, "how many?", abstained=True) == "missing"
    assert verdict(" It is open then. ", OPEN, "?", "It is open then.") == "correct"
    assert verdict("It has 312 pages.", truth("unanswerable", None, "I don't know")) == "incorrect"


def test_tokens_after_the_75th_are_ignored() -> None:
    assert verdict("well " * 75 + "1234 pages", PAGES) == "incorrect"
