"""What is compared, and whether a sentence says a question's own value."""

import pytest

from language.values import COUNT, DATE, bears_out, measure, moment


def test_a_quantity_is_measured_in_its_base_unit_and_a_number_counts() -> None:
    short, long = measure("412 m"), measure("It is 0.5 km long.")
    assert short is not None
    assert long is not None
    assert (short.dimension, short.size < long.size) == (long.dimension, True)
    counted = measure("288 pages")
    assert counted is not None
    assert (counted.dimension, counted.size) == (COUNT, 288)
    assert measure("a long road") is None


def test_moments_are_in_the_order_of_the_calendar() -> None:
    texts = ["1868", "4 May 1901", "June 1901", "1902"]
    moments = [each for text in texts if (each := moment(text)) is not None]
    assert [each.dimension for each in moments] == [DATE] * 4
    assert [each.size for each in moments] == sorted(each.size for each in moments)
    assert moment("in May") is None


@pytest.mark.parametrize(
    ("question", "sentence", "holds"),
    [
        ("Was it built in 1868?", "It was built in 1868.", True),
        ("Was it built in 1868?", "It was built in June 1868.", True),
        ("Was it built in 1868?", "It was built in 1901.", False),
        ("Was it built in 1868?", "It was built long ago.", None),
        ("Is it 500 m long?", "It is 0.5 km long.", True),
        ("Is it 500 m long?", "It is 400 m long.", False),
        ("Is it 500 m long?", "It is 400 years old.", None),
        ("Is this by Ada Moran?", "The author is Ada Moran.", True),
        ("Is this by Ada Moran?", "The author is Ines Valdern.", None),
        ("Is this by Ada Moran?", "It is not by Ada Moran.", None),
        ("Is the Shard made of brick?", "The Shard is made of glass.", None),
    ],
)
def test_a_sentence_bears_a_value_out_or_not_or_cannot_tell(
    question: str, sentence: str, holds: bool | None
) -> None:
    assert bears_out(question, sentence) is holds
