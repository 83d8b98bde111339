"""What is said of an answer: the clause that holds it, whole, at most 25 words."""

import pytest

from services.reader.spoken import MOST_SPOKEN, speak, speak_attribute

LONG = (
    "St Paul's Cathedral, whose dome was for long the highest point of all of London, is 111 m tall, "
    "and it was designed by Christopher Wren after the fire that destroyed the older church in 1666."
)


@pytest.mark.parametrize(
    ("sentence", "span", "subject", "said"),
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
def test_an_answer_is_a_whole_clause(sentence: str, span: str, subject: str | None, said: str) -> None:
    assert speak(sentence, span, subject, "").startswith(said)
    assert len(speak(sentence, span, subject, "").split()) <= MOST_SPOKEN


DUCHY = (
    "The Duchy of Normandy, which began in 911 as a small fiefdom on the coast, was established by the "
    "treaty between King Charles III and the Viking ruler Rollo, and was situated in the Frankish kingdom."
)


def test_a_relative_clause_is_left_out_where_the_sentence_is_too_long_with_it() -> None:
    said = speak(DUCHY, "King Charles III", None, "Normans")
    assert said.startswith("The Duchy of Normandy was established by the treaty between King Charles III and")


def test_a_phrase_without_a_verb_is_not_taken_for_a_clause() -> None:
    sentence = (
        "In 2006, a toxic spill off the coast of Africa, from a European ship with waste of many kinds in "
        "its tanks and no papers, prompted the Commission to look into legislation against waste."
    )
    assert speak(sentence, "2006", None, "European law") == "European law: 2006."


@pytest.mark.parametrize(
    ("span", "said"),
    [
        ("6 million", "6 million Lira."),
        ("European Union", "Treaty on the Functioning of the European Union."),
        ("Lira", "Lira."),
    ],
)
def test_a_cut_span_is_completed_to_its_name_or_phrase(span: str, said: str) -> None:
    sentence = (
        "which, under article 4 of the Treaty on the Functioning of the European Union and by the rulings of "
        "its courts in many years and cases, allowed him 6 million Lira in damages for his loss"
    )
    assert speak(sentence, span, None, "") == said


def test_a_span_that_no_short_clause_holds_is_said_with_what_it_is_about() -> None:
    sentence = (
        "beside the river that the old men of the village had long called the slow one " * 2 + "in 1731"
    )
    assert speak(sentence, "1731", "The mill", "Mills") == "The mill: 1731."
    assert speak(sentence, "1731", None, "Mills") == "Mills: 1731."
    assert speak(sentence, "1731", None, "") == "1731."


@pytest.mark.parametrize(
    ("sentence", "span", "said"),
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
def test_an_attribute_is_said_with_its_key_and_whole_value(sentence: str, span: str, said: str) -> None:
    assert speak_attribute(sentence, span, "Doge's Palace") == said
