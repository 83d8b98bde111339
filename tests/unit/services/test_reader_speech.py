"""How an answer of the reader is spoken: sentences, attributes and rows of tables."""

import pytest

from services.reader.engines.rows import say_cell, with_named_rows
from services.reader.engines.spoken import MOST_SPOKEN, speak, speak_attribute

LONG = (
    "St Paul's Cathedral, whose dome was for long the highest point of all of London, is 111 m tall, "
    "and it was designed by Christopher Wren after the fire that destroyed the older church in 1666."
)


@pytest.mark.parametrize(
    ("sentence", "span", "subject", "text"),
    [
        ("The tower is 71 m tall.", "71 m", None, "The tower is 71 m tall."),
        ("It is 98.6 m tall.", "98.6 m", "The Campanile", "The Campanile is 98.6 m tall."),
        ("It is said that 98 people fell.", "98", "The Campanile", "It is said that 98 people fell."),
        ("It is 98.6 m tall.", "98.6 m", None, "It is 98.6 m tall."),
        ("The tower[3] (built 1907) is 71 m tall .", "71 m", None, "The tower is 71 m tall."),
        ("It fell (1902) at night.", "1902", "The tower", "The tower fell, 1902, at night."),
        ("opened in 1912", "1912", None, "Opened in 1912."),
        ("He left, and he came back in 1911.", "1911", "Kit", "Kit left, and he came back in 1911."),
        (LONG, "111 m", None, LONG.partition(", and")[0] + "."),
        (
            LONG,
            "Christopher Wren",
            None,
            "It was designed by Christopher Wren after the fire that destroyed the",
        ),
    ],
)
def test_an_answer_is_a_whole_clause(sentence: str, span: str, subject: str | None, text: str) -> None:
    assert speak(sentence, span, subject, "").startswith(text)
    assert len(speak(sentence, span, subject, "").split()) <= MOST_SPOKEN


@pytest.mark.parametrize("filling", [" " * 19_000, "a, " * 6_000, "if " * 6_000, "Ada " * 4_500])
def test_an_answer_in_a_hostile_sentence_is_spoken(filling: str) -> None:
    assert speak(f"It {filling} was built in x Zorn.", "Zorn", "The mill", "").endswith("Zorn.")


DUCHY = (
    "The Duchy of Normandy, which began in 911 as a small fiefdom on the coast, was established by the "
    "treaty between King Charles III and the Viking ruler Rollo, and was situated in the Frankish kingdom."
)
ARTICLE = (
    "which, under article 4 of the Treaty on the Functioning of the European Union and by the rulings of "
    "its courts in many years and cases, allowed him 6 million Lira in damages for his loss"
)
SLOW = "beside the river that the old men of the village had long called the slow one " * 2 + "in 1731"


@pytest.mark.parametrize(
    ("sentence", "span", "subject", "title", "spoken"),
    [
        (
            "The tools for the wheelhouse cost £390 and may be borrowed for three days at a time; the "
            "deposit of £20 is lost if one comes back dirty or late.",
            "three days",
            None,
            "",
            "The tools for the wheelhouse cost £390 and may be borrowed for three days at a time.",
        ),
        (
            "Programs were punched on teleprinter tape and could from 1957 be written in a notation that was "
            "invented by Jean Calloway in which instructions look like sentences.",
            "Jean Calloway",
            None,
            "",
            "Programs were punched on teleprinter tape and could from 1957 be written in a notation that was "
            "invented by Jean Calloway.",
        ),
        (
            "The mill was closed with planks for fourteen years and rebuilt in paler stone, but the old "
            "wheel, which belonged to nobody, stayed where it was.",
            "paler stone",
            None,
            "",
            "The mill was closed with planks for fourteen years and rebuilt in paler stone.",
        ),
        (
            "Its nickname comes from Eleanor Harcombe of Wexcombe, who bought it in 1829 with the money from "
            "the sale of a brewery, and who played it every evening.",
            "a brewery",
            None,
            "The cello",
            "The cello: bought it in 1829 with the money from the sale of a brewery.",
        ),
        (
            "Five are coming: Miss Abara, who leads the trip, Mr Quill, Mrs Sandoval, Kit Marlowe and Dr "
            "Finch, a father who is a geologist and has been here before with others.",
            "Mr Quill",
            None,
            "",
            "Five are coming: Miss Abara, Mr Quill, Mrs Sandoval, Kit Marlowe and Dr Finch, a father who is "
            "a geologist.",
        ),
        # a relative clause is left out, or said of the words before it
        (
            DUCHY,
            "King Charles III",
            None,
            "",
            DUCHY.replace(", which began in 911 as a small fiefdom on the coast,", ""),
        ),
        (DUCHY, "911", None, "", "The Duchy of Normandy began in 911 as a small fiefdom on the coast."),
        # a phrase without a verb is no clause
        (
            "In 2006, a toxic spill off the coast of Africa, from a European ship with waste of many kinds "
            "in its tanks and no papers, prompted the Commission to look into legislation against waste.",
            "2006",
            None,
            "European law",
            "European law: 2006.",
        ),
        # what was cut is completed from pause to pause
        (ARTICLE, "6 million", None, "", "6 million Lira in damages for his loss."),
        (ARTICLE, "European Union", None, "", f"Under{ARTICLE[len('which, under') :].partition(',')[0]}."),
        # a list is said from its first item
        (
            "He saw higher education as a vehicle of opportunity for the talented rather than an entitlement "
            "for the wealthy, so Conant devised programs to identify, recruit, and support talented youth.",
            "support talented youth",
            None,
            "Harvard",
            "Harvard: programs to identify, recruit, and support talented youth.",
        ),
        (
            f"beside the {'long and winding ' * 14}river, in honour of the poet Zebra, near the park",
            "Zebra",
            None,
            "Park",
            "Park: honour of the poet Zebra, near the park.",
        ),
        (SLOW, "1731", "The mill", "Mills", "The mill: the slow one in 1731."),
        (SLOW, "1731", None, "Mills", "Mills: the slow one in 1731."),
        (SLOW, "1731", None, "", "The slow one in 1731."),
    ],
)
def test_of_a_long_sentence_a_part_is_spoken_that_is_whole(
    sentence: str, span: str, subject: str | None, title: str, spoken: str
) -> None:
    assert speak(sentence, span, subject, title) == spoken


@pytest.mark.parametrize(
    ("sentence", "span", "text"),
    [
        ("The begun of Doge's Palace is 1340.", "1340", "Begun: 1340."),
        ("The architects of Doge's Palace is Calendario and Bon.", "Bon", "Architects: Calendario and Bon."),
        (
            "The use of Doge's Palace is " + "a seat of government " * 9 + "and a museum.",
            "museum",
            "Use: museum.",
        ),
        ("Begun 1340", "1340", "Begun 1340."),
    ],
)
def test_an_attribute_is_said_with_its_key_and_whole_value(sentence: str, span: str, text: str) -> None:
    assert speak_attribute(sentence, span, "Doge's Palace") == text


ADULT, CHILD = "Ticket: Adult; Price: £14.50", "Ticket: Child (5 to 15); Price: £7.20"
FAMILY = "Ticket: Family; Price: £36.00"
TABLE = f"Prices of this year.\n{ADULT}\n{CHILD}\n{FAMILY}\nDogs are free."


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What does a family ticket cost?", [FAMILY]),
        ("How much do adults pay?", [ADULT]),
        ("Which ticket costs £7.20?", [CHILD]),
        ("What does an adult or a family pay?", [ADULT, CHILD, FAMILY]),
        ("What does a ticket cost?", [ADULT, CHILD, FAMILY]),
        ("Are dogs free?", [ADULT, CHILD, FAMILY]),
    ],
)
def test_only_a_row_that_the_question_names_is_read(question: str, rows: list[str]) -> None:
    read = with_named_rows(question, TABLE)
    lines = read.split("\n")
    assert [line for line in lines if "Ticket" in line] == rows
    assert (lines[0], lines[-1]) == ("Prices of this year.", "Dogs are free.")
    assert len(read) == len(TABLE)
    assert all(read.find(row) in (-1, TABLE.find(row)) for row in (ADULT, CHILD, FAMILY))


@pytest.mark.parametrize(
    ("question", "facts"),
    [
        ("Which ports does the phone have?", ["Ports: USB-C, jack"]),
        ("When was it released, and at what price?", ["Price: 499 crowns", "Released: May 2024"]),
        (
            "How heavy is it?",
            ["Price: 499 crowns", "Sales price: 450", "Released: May 2024", "Ports: USB-C, jack"],
        ),
    ],
)
def test_only_facts_whose_labels_the_question_has_are_read(question: str, facts: list[str]) -> None:
    text = "It is sold in shops.\nPrice: 499 crowns\nSales price: 450\nReleased: May 2024\nPorts: USB-C, jack"
    read = with_named_rows(question, text)
    assert [line for line in read.split("\n")[1:] if line.strip()] == facts
    assert all(read.find(fact) == text.find(fact) for fact in facts)


@pytest.mark.parametrize(
    "text", ["", "A; b", "Height: 30 m", "Opened: 1908; Height: 31 m", "a\r\nb; c: d\r\n"]
)
def test_text_without_rows_that_look_alike_stays(text: str) -> None:
    assert with_named_rows("How high is it?", text) == text


def test_a_name_that_makes_a_clause_too_long_does_not_cut_off_its_end() -> None:
    """A clause of 25 words fits with its pronoun, and not with the name in its place."""
    sentence = (
        "She was the first woman to pilot the Space Shuttle, in 1995 on mission STS-63, and the first woman "
        "to command a shuttle mission, STS-93, in July 1999."
    )
    text = speak(sentence, "STS-93", "Eileen Collins", "")
    assert text.startswith("Eileen Collins: the first woman to pilot")
    assert text.endswith("the first woman to command a shuttle mission, STS-93.")


@pytest.mark.parametrize(
    ("row", "span", "text"),
    [
        ("Product: Raven teapot; Price (£): 95; Made by: Orla Finch", "£): 95", "Raven teapot, price: £95"),
        ("Tower: North; Height (m): 98; Steps: 312", "98", "North, height: 98 m"),
        ("Programme: Synthetics; Temperature: 40 °C; SIM: no", "no", "Synthetics, SIM: no"),
        ("Product: Raven teapot; Price: £95", "Raven teapot", "Product: Raven teapot"),
        ("Ticket: Adult; Before noon: £5; After noon: £5", "£5", "Adult, after noon: £5"),
        ("City: Linz; Population (2021): 206000", "206000", "Linz, population (2021): 206000"),
        ("City: Linz; Name (Czech): Linec", "Linec", "Linz, name (Czech): Linec"),
        ("Dishwasher safe: no", "no", None),
        ("It opens at nine; tickets cost £5.", "£5", None),
    ],
)
def test_a_cell_is_said_with_the_name_of_its_row(row: str, span: str, text: str | None) -> None:
    assert say_cell(row, row.rindex(span) + len(span)) == text
