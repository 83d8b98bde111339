"""Quotes are verbatim sentences of the evidence, found by what the answer says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.llm.quoting import LONGEST, printed_quotes, quotes
from gateway.state import Quote
from tests.unit.gateway.llm.stage import page, printed

TOWER = page("Belém Tower stands in Lisbon. It was built between 1514 and 1519. Entry is paid.")
OTHER = page("The tram runs daily. Its fare is low.")


BUILT = "It was built between 1514 and 1519."
CASES: dict[str, tuple[str, str, list[int], list[int], list[Quote]]] = {
    "the cited sentence nearest to the answer": (
        *("Belém Tower was built from 1514 to 1519.", "", [1], [0, 1], [Quote(1, BUILT)]),
    ),
    "the reason decides": ("Yes.", "Entry is paid for.", [1], [0, 1], [Quote(1, "Entry is paid.")]),
    "a cited piece that shares nothing": ("It weighs 3 kg.", "Piece 1 says so.", [0], [0], []),
    "a quote for each cited piece": (
        *("The tram runs daily to Belém Tower.", "", [0, 1], [0, 1]),
        [Quote(0, "The tram runs daily."), Quote(1, "Belém Tower stands in Lisbon.")],
    ),
    "no citation": (BUILT, "", [], [0, 1], [Quote(1, BUILT)]),
    "no citation and a faint likeness": (
        *("The tower was designed by Francisco de Arruda.", "", [], [1], []),
    ),
    "evidence that was not shown": (BUILT, "", [], [0], []),
}


@pytest.mark.parametrize(("answer", "reason", "cited", "shown", "found"), CASES.values(), ids=CASES)
def test_the_answer_s_source_sentence_is_quoted(
    answer: str, reason: str, cited: list[int], shown: list[int], found: list[Quote]
) -> None:
    assert list(quotes(answer, reason, [OTHER, TOWER], cited, shown)) == found


@given(st.text(max_size=200), st.text(max_size=200), st.lists(st.text(max_size=900), max_size=4))
def test_every_quote_stands_in_its_evidence(answer: str, reason: str, texts: list[str]) -> None:
    evidence = [page(text) for text in texts]
    places = range(len(evidence))
    for cited in ([], list(places)):
        for quote in quotes(answer, reason, evidence, cited, list(places)):
            assert quote.text
            assert quote.text in evidence[quote.index].text
            assert len(quote.text) <= LONGEST


def test_printed_lines_that_the_answer_repeats_are_its_quotes() -> None:
    read = printed("FLAT WHITE 3.20", "FILTER 2.80", "—")
    assert printed_quotes("A flat white costs 3.20.", read) == ("FLAT WHITE 3.20",)
