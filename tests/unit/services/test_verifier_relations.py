"""Verifying answers whose words are not the evidence's: givens, comparisons, lists, weekdays, relations."""

import pytest

from services.verifier.engine import Verdict
from services.verifier.engines.dates import agrees, dates_of
from services.verifier.engines.names import name_runs
from services.verifier.engines.pocket import PocketVerifier

ENGINE = PocketVerifier()
REFUSED, BORDERLINE, ACCEPTED = 0.35, 0.45, 0.6


def probability(question: str, answer: str, evidence: list[str], entity: str | None) -> float:
    verdict: Verdict = ENGINE.verify(question, answer, evidence, entity)
    return verdict.probability


BLENDER = ["Zena Blender\nThe blender comes with a five-year guarantee.\nIt was released in 2019."]


@pytest.mark.parametrize(
    ("question", "answer", "supported"),
    [
        (
            "bought in June 2021: would the warranty of this still hold in May 2027?",
            "No, the warranty is 5 years from the purchase in June 2021.",
            True,
        ),
        (
            "I got this in March 2022. Is it under warranty in May 2023?",
            "Yes, the warranty is 5 years from the purchase in March 2022.",
            True,
        ),
        (
            "bought in June 2021: would the warranty of this still hold in May 2027?",
            "Yes, the warranty is 6 years from the purchase in June 2021.",
            False,
        ),
        (
            "bought in June 2021: would the warranty of this still hold in May 2027?",
            "No, the warranty is 5 years from the purchase in July 2021.",
            False,
        ),
        ("bought in June 2021: when was this released?", "It was released in June 2021.", False),
        ("Was this released in 2014?", "Yes, it was released in 2014.", False),
    ],
)
def test_only_a_circumstance_of_the_question_may_be_repeated(
    question: str, answer: str, supported: bool
) -> None:
    found = probability(question, answer, BLENDER, "Zena Blender")
    assert found >= ACCEPTED if supported else found < REFUSED


BOOKS = [
    "The pages of Night Harvest is 301 pages.",
    "Glass Letters\nGlass Letters won a prize in 2004.\nA copy runs to 486 pages.",
]
LAMPS = ["Lumo One\nThe Lumo One weighs 310 g.", "Lumo Two\nAt 290 g it is light. It costs 99 euros."]
YEARS = ["The year of Night Ferry is 1906.", "Pale Gate\nPale Gate was finished in 1950."]
SHOPS = [
    "Fenn: offers\n| Brio bar | €12 |\n| Zena | €9 |",
    "Torvald: offers\nTorvald has the Brio bar in stock at €15.",
]


@pytest.mark.parametrize(
    ("evidence", "entity", "answer"),
    [
        (
            BOOKS,
            "Night Harvest",
            "Glass Letters has the greater number of pages: 486 against 301 for Night Harvest.",
        ),
        (
            BOOKS,
            "Night Harvest",
            "Glass Letters is longer: 486 pages against 301 pages for Night Harvest.",
        ),
        (LAMPS, "Lumo One", "Lumo One has the greater weight: 310 g against 290 g for Lumo Two."),
        (LAMPS, "Lumo One", "The Lumo One is heavier than the Lumo Two: 310 g against 290 g."),
        (YEARS, "Night Ferry", "Pale Gate has the later year painted: 1950 against 1906 for Night Ferry."),
        (SHOPS, "Brio bar", "It is cheaper at Fenn, where it costs €12; at Torvald it costs €15."),
    ],
)
def test_a_comparison_with_both_values_in_their_places_is_supported(
    evidence: list[str], entity: str, answer: str
) -> None:
    assert probability("Which of the two is it?", answer, evidence, entity) >= 0.8


@pytest.mark.parametrize(
    ("evidence", "entity", "answer"),
    [
        (
            BOOKS,
            "Night Harvest",
            "Night Harvest has the greater number of pages: 486 against 301 for Glass Letters.",
        ),
        (
            BOOKS,
            "Night Harvest",
            "Night Harvest has the greater number of pages: 301 against 486 for Glass Letters.",
        ),
        (
            BOOKS,
            "Night Harvest",
            "Glass Letters has the smaller number of pages: 486 against 301 for Night Harvest.",
        ),
        (
            BOOKS,
            "Night Harvest",
            "Glass Letters has the greater number of pages: 487 against 301 for Night Harvest.",
        ),
        (LAMPS, "Lumo One", "Lumo Two has the greater weight: 310 g against 290 g for Lumo One."),
        (LAMPS, "Lumo One", "The Lumo One is lighter: 290 g against 310 g for the Lumo Two."),
        (YEARS, "Night Ferry", "Pale Gate is older: 1950 against 1906 for Night Ferry."),
        (SHOPS, "Brio bar", "It is cheaper at Torvald, where it costs €12; at Fenn it costs €15."),
        (SHOPS, "Brio bar", "It is cheaper at Fenn, where it costs €9; at Torvald it costs €15."),
    ],
)
def test_a_comparison_turned_round_or_with_a_wrong_value_is_refused(
    evidence: list[str], entity: str, answer: str
) -> None:
    assert probability("Which of the two is it?", answer, evidence, entity) < REFUSED


PAINTER = ["Oda Lind\nOda Lind also made Herons, A Stair for Elsa and Boats at Dusk."]
RADIO = ["Brio radio\nThe Brio radio is sold in sand, teal and graphite."]


@pytest.mark.parametrize(
    ("evidence", "entity", "answer", "supported"),
    [
        (PAINTER, "Oda Lind", "Oda Lind also made A Stair for Elsa, Herons and Boats at Dusk.", True),
        (PAINTER, "Oda Lind", "Oda Lind also made A Stair for Elsa, Swans and Boats at Dusk.", False),
        (PAINTER, "Oda Lind", "Oda Lind also made A Stair for Elsa, Herons and The Mill.", False),
        (RADIO, "Brio radio", "The colours of the Brio radio are sand, teal and graphite.", True),
        (RADIO, "Brio radio", "The colours of the Brio radio are sand, olive and graphite.", False),
        (RADIO, "Brio radio", "It comes in sand, teal and crimson.", False),
    ],
)
def test_every_item_of_a_list_is_looked_up(
    evidence: list[str], entity: str, answer: str, supported: bool
) -> None:
    found = probability("What else?", answer, evidence, entity)
    assert found >= ACCEPTED if supported else found < REFUSED


def test_a_comma_parts_two_names() -> None:
    runs = name_runs("He also made A Lantern for Elsa, Clouds and Foxes at Large.")
    assert [" ".join(word.text for word in run) for run in runs] == [
        "Lantern",
        "Elsa",
        "Clouds",
        "Foxes",
        "Large",
    ]


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("on Sunday", "Sun\nclosed"),
        ("Wednesday", "Mon-Fri 8-18"),
        ("Saturday", "Sat & Sun closed"),
        ("Tuesday", "Monday to Thursday"),
        ("Sunday", "Fri–Mon: 10:00-16:00"),
        ("Thursday", "open daily"),
        ("5 September 1990", "5 Sept. 1990"),
    ],
)
def test_abbreviated_days_and_ranges_of_days_agree_with_full_names(answer: str, evidence: str) -> None:
    (day,) = dates_of(answer)
    assert any(agrees(day, other) for other in dates_of(evidence))


@pytest.mark.parametrize(
    "text", ["The sun is yellow", "The Sun is a star", "She sat down", "Sun cream", "Fri is a name"]
)
def test_words_that_only_look_like_days_are_none(text: str) -> None:
    assert dates_of(text) == []


TIMETABLE = [
    "Brook & Daughters\nbicycles\nOpening hours\nMon-Fri\n08:00-20:00\nSat\n09:00-18:00\nSun\nclosed\nElm Row"
]


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("No, on Sunday it is closed.", True),
        ("Yes, on Saturday it is open from 09:00 to 18:00.", True),
        ("Yes, on Wednesday it is open until 20:00.", True),
        ("Yes, on Sunday it is open.", False),
        ("No, on Saturday it is closed.", False),
        ("Yes, on Sunday it is open from 09:00 to 18:00.", False),
        ("Yes, on Saturday it is open until 20:00.", False),
    ],
)
def test_a_timetable_is_read_day_by_day(answer: str, supported: bool) -> None:
    found = probability("Can I go then?", answer, TIMETABLE, "Brook & Daughters, Lowell")
    assert found >= ACCEPTED if supported else found < REFUSED


@pytest.mark.parametrize(
    ("title", "supported"), [("Brook & Daughters", True), ("Brook & Daughters, Easton", False)]
)
def test_a_name_may_lack_its_town_but_not_have_another(title: str, supported: bool) -> None:
    evidence = [f"{title}\nThe owner of {title} is Ada Finn."]
    answer = "The owner of Brook & Daughters, Lowell is Ada Finn."
    found = probability("Who owns it?", answer, evidence, "Brook & Daughters, Lowell")
    assert found >= ACCEPTED if supported else found < REFUSED


@pytest.mark.parametrize(
    ("question", "answer", "evidence"),
    [
        (
            "How long does it keep?",
            "The shelf life of X7 is 24 months.",
            "One can open it within 24 months.",
        ),
        ("From what year is it?", "The creation date of X7 is 1896.", "The year of X7 is 1896."),
        ("When was it put up?", "The unveiling date of X7 is 1994.", "The erected of X7 is 1994."),
        (
            "Where is it based?",
            "The headquarters of X7 is Lowell.",
            "Its head office is in Lowell.",
        ),
        ("How many work there?", "The number of employees of X7 is 660.", "It gives work to 660 people."),
        ("When is it closed?", "The closing day of X7 is Tuesday.", "Do not come on a Tuesday, it is shut."),
    ],
)
def test_a_relation_in_other_words_is_not_refused(question: str, answer: str, evidence: str) -> None:
    assert probability(question, answer, [f"X7\n{evidence}"], "X7") >= BORDERLINE


@pytest.mark.parametrize(
    ("question", "answer", "evidence"),
    [
        ("How tall is it?", "The height of X7 is 80 cm.", "The length of X7 is 80 cm."),
        ("When was she born?", "X7 was born in 1931.", "X7 died in 1931."),
        ("When was she born?", "X7 was born in 1931.", "X7 (1880-1931) was a painter."),
        ("When did they get it?", "The acquisition date of X7 is 1920.", "X7 was founded in 1920."),
        ("What is it now?", "The price of X7 is €57.", "On its first day in the shops X7 was priced at €57."),
        ("What is the address?", "The address of X7 is Lowell.", "The town of X7 is Lowell."),
        ("Who owns it?", "The owner of X7 is Ada Finn.", "The chef of X7 is Ada Finn."),
        ("When was it restored?", "The publication date of X7 is 1906.", "The year of X7 is 1906."),
        ("How much fat?", "It has 21 g of fat.", "A bar has 21 g of sugar and 6.2 g of fat."),
        ("How many chapters?", "The number of chapters of X7 is 288.", "It has 288 pages in 31 chapters."),
    ],
)
def test_a_value_of_another_relation_is_refused(question: str, answer: str, evidence: str) -> None:
    assert probability(question, answer, [f"X7\n{evidence}"], "X7") < REFUSED
