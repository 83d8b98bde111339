"""Answers read straight off the photo (covers, labels, menus, sheets, signs), and entity selection."""

import pytest

from gateway.reasoning.extractive import ExtractiveReasoner
from gateway.reasoning.extractive.hours import parse_hours
from gateway.reasoning.extractive.worksheet import evaluate, solve
from gateway.state import Entity, PhotoText, TextLine
from tests.unit.reasoning.reading import DEADLINE, ask, draft, photo_text, thing

pytestmark = pytest.mark.anyio
MENU = photo_text(
    "Blue Heron",
    "Starters",
    ("Onion soup", "€6.50"),
    ("Green salad", "€5"),
    "Mains",
    ("Beef stew", "€14.50"),
    ("Grilled trout", "€17"),
    "Drinks",
    ("Mint tea", "€3"),
    ("Red wine", "€4.50"),
)
COVER = photo_text("The Dune Chronicles", "Salt Road", "by Mira Holm", "Fenn Press", tall=1)
SIGN = photo_text(
    "Harper & Sons",
    "14",
    "Mon-Fri",
    "09:00-18:00",
    "Sat",
    "10:00-14:00",
    "Sun",
    "closed",
    "Mill Lane",
    tall=0,
)
POSTER = photo_text(
    "Fen Rock Night", "12 May 2027", "20:30", "Corn Hall", "with Ada Morven", "Tickets €18", tall=0
)
PLAQUE = photo_text("Ada Morven", "1850-1912", "painted the harbour", "from this house", tall=0)
LABEL = photo_text("Orvelo", "Oat Biscuits", "Lemon Ginger", "250 g", "Energy per 100 g: 451 kcal", tall=1)
SHEET = photo_text(
    "1) 12 x 11 =",
    "2) 3/4 + 1/2 =",
    "3) A train travels 210 km in 3 hours.",
    "What is its average speed?",
    "4) 3x + 4 = 19",
)

READ = [
    ("How much is the onion soup?", MENU, "€6.50"),
    ("What does the trout cost?", MENU, "€17"),
    ("What's the most expensive dish here?", MENU, "grilled trout"),
    ("which is the cheapest drink", MENU, "mint tea"),
    ("Which drinks cost less than 4 euros?", MENU, "mint tea"),
    ("What do the beef stew and the red wine cost together?", MENU, "€19"),
    ("How many drinks are on this menu?", MENU, "2"),
    ("Is the beef stew or the trout more expensive?", MENU, "grilled trout"),
    ("what's the difference in price between the beef stew and the green salad", MENU, "€9.50"),
    ("Who wrote this?", COVER, "Mira Holm"),
    ("Which series does this book belong to?", COVER, "The Dune Chronicles"),
    ("who published this", COVER, "Fenn Press"),
    ("When is this shop open on Saturday?", SIGN, "10:00"),
    ("what are the weekday opening hours of this shop", SIGN, "09:00"),
    ("What street is this shop on?", SIGN, "Mill Lane"),
    ("at what number is this shop", SIGN, "14"),
    ("When is this event?", POSTER, "12 May 2027"),
    ("What time does this concert start?", POSTER, "20:30"),
    ("Who is performing?", POSTER, "Ada Morven"),
    ("how much are the tickets for this", POSTER, "€18"),
    ("When did the person on this plaque die?", PLAQUE, "1912"),
    ("How many years did the person on this plaque live?", PLAQUE, "62"),
    ("What is the person on this plaque remembered for?", PLAQUE, "painted the harbour"),
    ("What flavour is this?", LABEL, "Lemon Ginger"),
    ("what's the net weight of this", LABEL, "250 g"),
    ("How many calories per 100 g does this have?", LABEL, "451 kcal"),
    ("what brand is this", LABEL, "Orvelo"),
    ("What's the answer to question 1?", SHEET, "132"),
    ("Solve number 2, please.", SHEET, "5/4"),
    ("what should I write for problem 3", SHEET, "70 km/h"),
    ("can you solve number 4", SHEET, "x = 5"),
]


@pytest.mark.parametrize(("question", "text", "value"), READ)
async def test_the_photo_answers_by_itself(question: str, text: PhotoText, value: str) -> None:
    first = await draft(ask(question), text)
    assert first.answer is not None
    assert value in first.answer
    assert first.self_contained
    assert first.quotes
    assert all(quote in text.plain for quote in first.quotes)


async def test_a_sign_is_read_out() -> None:
    first = await draft(ask("What does this sign say?"), photo_text("Mind the step", "Wet paint"))
    assert first.answer is not None
    assert "Mind the step" in first.answer
    assert "Wet paint" in first.answer


async def test_a_doubtful_reading_lowers_the_confidence() -> None:
    clear = await draft(ask("Who wrote this?"), COVER)
    dim = await draft(
        ask("Who wrote this?"), PhotoText(tuple(TextLine(n.text, 0.62, n.box) for n in COVER.lines))
    )
    assert dim.confidence < 0.6 < clear.confidence


async def test_the_price_of_what_the_menu_lacks_is_not_made_up() -> None:
    first = await draft(ask("How much is the mushroom risotto?"), MENU)
    assert first.answer is None


async def test_rows_are_found_on_a_tilted_menu() -> None:
    lines: list[TextLine] = []
    for index, (name, price) in enumerate([("Onion soup", "€6"), ("Beef stew", "€14"), ("Apple tart", "€5")]):
        top = 0.2 + 0.05 * index
        lines.append(TextLine(name, 0.99, (0.1, top, 0.4, top + 0.06), 0.1))
        lines.append(TextLine(price, 0.99, (0.7, top + 0.055, 0.8, top + 0.095), 0.1))
    first = await draft(ask("How much is the beef stew?"), PhotoText(tuple(lines)))
    assert first.answer is not None
    assert "€14" in first.answer


async def test_a_question_about_something_else_is_not_answered_from_the_photo() -> None:
    first = await draft(ask("Who wrote The Iron Gate?"), COVER)
    assert first.answer is None
    assert first.entity == "The Iron Gate"


async def test_a_candidate_whose_title_is_not_on_the_cover_is_refused() -> None:
    candidates = (thing("Salt Road", 0.7), thing("Iron Road", 0.9))
    question = ask("Who translated this book?")
    chosen = await ExtractiveReasoner().select_entity(
        question, await draft(question), candidates, COVER, DEADLINE
    )
    assert chosen is not None
    assert chosen.name == "Salt Road"


async def test_another_model_number_is_another_thing() -> None:
    face = photo_text("Vexa", "VX-310")
    question = ask("How heavy is this?")
    first = await draft(question)
    chosen = await ExtractiveReasoner().select_entity(
        question, first, (thing("Vexa VX-300"),), face, DEADLINE
    )
    assert chosen is None or chosen.name != "Vexa VX-300"


async def test_a_picture_without_text_is_believed_by_its_probability() -> None:
    question = ask("Who painted this?")
    first = await draft(question)
    reasoner = ExtractiveReasoner()
    likely = await reasoner.select_entity(
        question, first, (thing("Grey Harbour", 0.9),), PhotoText(), DEADLINE
    )
    unlikely = await reasoner.select_entity(
        question, first, (thing("Grey Harbour", 0.3),), PhotoText(), DEADLINE
    )
    assert likely is not None
    assert likely.name == "Grey Harbour"
    assert unlikely is None


async def test_a_thing_named_in_the_question_needs_no_photo() -> None:
    question = ask("When was Halm Works founded?")
    chosen = await ExtractiveReasoner().select_entity(question, await draft(question), (), COVER, DEADLINE)
    assert chosen == Entity("Halm Works", 1.0)


async def test_prominent_text_names_the_thing_when_image_search_does_not() -> None:
    question = ask("How many pages does this have?")
    chosen = await ExtractiveReasoner().select_entity(question, await draft(question), (), COVER, DEADLINE)
    assert chosen is not None
    assert chosen.name == "Salt Road"
    assert 0 < chosen.probability < 1


SOLVED = [
    ("7 + 5 x 2 =", "17"),
    ("(3 + 4) * 6", "42"),
    ("1/4 + 1/4 =", "1/2 (0.5)"),
    ("20% of 50", "10"),
    ("2x - 6 = 10", "x = 8"),
    ("A square has sides of 9 cm. How long is its perimeter?", "36 cm"),
    ("A rectangle is 4 cm long and 6 cm wide. What is its area?", "24 cm²"),
    ("A mass of 12 kg accelerates at 3 m/s². Find the force.", "36 N"),
    ("A car drives 90 km/h for 2 hours. How far does it get?", "180 km"),
    ("A lamp needs 2 A at 12 V. What is its power?", "24 W"),
]


@pytest.mark.parametrize(("exercise", "answer"), SOLVED)
def test_an_exercise_is_worked_out(exercise: str, answer: str) -> None:
    assert solve(exercise) == answer


@pytest.mark.parametrize("nonsense", ["", "2 +", "1/0", "((", "9^99", "import os"])
def test_nonsense_has_no_value(nonsense: str) -> None:
    assert evaluate(nonsense) is None


def test_hours_are_understood_in_several_spellings() -> None:
    assert parse_hours("Mon–Fri 9 am – 6 pm")[4].end == 18 * 60
    assert parse_hours("Open daily 10:00-16:00")[6].start == 10 * 60
    assert parse_hours("Saturday and Sunday: closed")[5].closed
