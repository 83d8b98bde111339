"""The reader and the verifier on the project's own encoder, with its real weights."""

import pytest

from services.reader.engine import Passage, Query, Reader
from services.reader.engines.builtin import open_builtin
from services.verifier.engines.builtin import BuiltinVerifier

TOWER = "The tower was built by Ada Lovelace in 1907. It is 71 m tall and stands beside the old harbour."
CATS = "Cats sleep for most of the day. Many people in the village keep two of them."
HARBOUR = "The harbour was dredged twice, in 1912 and in 1934, because the river brings sand."


@pytest.fixture
def reader() -> Reader:
    return open_builtin()


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("How tall is the tower?", "71 m"),
        ("Who built the tower?", "Ada Lovelace"),
        ("When was the tower built?", "1907"),
        ("Why was the harbour dredged?", "the river brings sand"),
    ],
)
def test_answer_span_is_found(reader: Reader, question: str, span: str) -> None:
    passages = [Passage(CATS, "Cats"), Passage(TOWER, "The tower"), Passage(HARBOUR, "The harbour")]
    (answer,) = reader.read(Query(question), passages)
    text = passages[answer.passage].text
    assert span in text[answer.sentence.start : answer.sentence.end]
    assert span in text[answer.span.start : answer.span.end]


def test_unanswered_question_is_less_probable(reader: Reader) -> None:
    passages = [Passage(TOWER, "The tower")]
    (known,) = reader.read(Query("How tall is the tower?"), passages)
    others = reader.read(Query("How much does a ticket for the tower cost?"), passages)
    assert all(other.probability < known.probability / 2 for other in others)


def test_the_end_of_a_long_page_is_read(reader: Reader) -> None:
    page = "The road goes on through the fields and past the mill. " * 60 + TOWER
    (answer,) = reader.read(Query("How tall is the tower?"), [Passage(page)])
    assert page[answer.span.start : answer.span.end].startswith("71 m")


@pytest.mark.parametrize("question", ["How tall is it? " * 400, "塔は" * 500, "", "?"])
def test_a_question_of_any_length_is_read(reader: Reader, question: str) -> None:
    assert len(reader.read(Query(question), [Passage(TOWER)])) <= 1


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("It is 71 m tall.", "Cats sleep for most of the day."),
        ("71 m", "1907"),
        ("The tower is 71 m tall.", "The tower is 72 m tall."),
    ],
)
def test_answer_in_the_evidence_has_more_support(answer: str, other: str) -> None:
    verifier = BuiltinVerifier()
    right, wrong = (
        verifier.verify("How tall is the tower?", text, [CATS, TOWER], None) for text in (answer, other)
    )
    assert right.probability > 0.5 > wrong.probability
    assert right.span is not None
    assert right.span.evidence_index == 1


@pytest.mark.parametrize("evidence", [[], [""], ["塔"]])
def test_an_answer_without_evidence_has_no_support(evidence: list[str]) -> None:
    assert BuiltinVerifier().verify("How tall is it?", "71 m", evidence, None).probability == 0
