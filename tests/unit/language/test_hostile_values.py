"""Whatever digits, signs, units and dates a stranger writes, reading them ends in values, not in a fault."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from language.comparatives import comparison
from language.dates import dates
from language.dialogue import halves
from language.numbers import numbers
from language.quantities import quantities, same_quantity
from language.questions import read_question
from language.sentences import sentences
from language.values import bears_out, measure, moment
from services.reader.engine import Passage, PassageKind, Query
from services.reader.engines.pocket import PocketReader
from services.verifier.engines.pocket import PocketVerifier

_PIECES = st.sampled_from(
    [
        *(
            "9" * 305,
            "9" * 18,
            "0" * 40,
            "1" + ",000" * 40,
            "1e999",
            "-",
            "−",
            ".",
            ",",
            "/",
            ":",
            "’",
            "½",
            "²",
        ),
        *("0", "0.0001", "1/0", "3/4", "1/100", "٣", "৯", "Ⅷ", "trillion", "hundred", "dozen", "and a half"),
        *(
            "one",
            "twenty",
            "second",
            "million billion",
            "km",
            "km/h",
            "°F",
            "%",
            "€",
            "$",
            "USD",
            "B",
            "ft",
            "in",
        ),
        *(
            "May",
            "31/02/0000",
            "0000-00-00",
            "9999-99-99",
            "BC",
            "1999-98",
            "2000s",
            "century",
            "99th",
            "'90s",
        ),
        *(
            "more than",
            "is",
            "total",
            "in",
            "per",
            "x",
            "to",
            "and",
            "the",
            "how many",
            "pages",
            "\n",
            " ",
            "\u202e",
        ),
    ]
)
READER, VERIFIER = PocketReader(), PocketVerifier()
_TEXTS = st.lists(_PIECES, max_size=12).map(" ".join) | st.lists(_PIECES, max_size=12).map("".join)


@settings(max_examples=300, deadline=None)
@given(_TEXTS)
@example("9" * 305 + " 0.0001")
@example("nine hundred ninety-nine trillion" + " trillion" * 30)
def test_every_value_that_is_read_is_a_finite_number(text: str) -> None:
    read = [*numbers(text)]
    amounts = quantities(text)
    assert all(math.isfinite(each.value) and math.isfinite(each.step) for each in read)
    assert all(math.isfinite(each.value) and math.isfinite(each.base) for each in amounts)
    assert all(-10_000 < (date.year or 0) < 10_000 for date in dates(text))
    assert all(same_quantity(each, each) for each in amounts)
    for reading in (measure, moment, read_question, comparison, halves, sentences):
        reading(text)
    bears_out(text, text)


@settings(max_examples=60, deadline=None)
@given(_TEXTS.filter(str.strip), _TEXTS.filter(str.strip), _TEXTS)
@example("how much is it in total?", "The total is 7 euros.", "9" * 305 + " 0.0001")
def test_no_evidence_makes_the_verifier_or_the_reader_fault(
    question: str, answer: str, evidence: str
) -> None:
    verdict = VERIFIER.verify(question, answer, [evidence, answer], None)
    assert 0.0 <= verdict.probability <= 1.0
    for kind in PassageKind:
        READER.read(Query(question), [Passage(evidence, answer, kind)], 3)


@pytest.mark.parametrize("digits", [19, 305, 5_000])
def test_a_number_of_too_many_digits_is_a_code(digits: int) -> None:
    assert numbers("9" * digits) == ()
