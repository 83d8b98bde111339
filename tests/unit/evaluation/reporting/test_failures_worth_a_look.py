"""How the report selects failures."""

from collections import Counter
from collections.abc import Sequence

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.reporting.failures import MOST, MOST_OF_A_CELL, Lesson, gold_in_evidence, instructive
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, Settled, settle
from tests.unit.evaluation.reporting.generated import Skill, questions, run

ASKED = questions(240, seed=9)
PROTOCOL = Protocol.KDD_CUP_2025


def settled(name: str, right: float = 0.4, refused: float = 0.3) -> list[Settled]:
    return settle(run(Skill(name, right, refused), ASKED).scored, PROTOCOL)


def with_records(turns: Sequence[Settled], **changes: object) -> list[Settled]:
    scored = [turn.scored for turn in turns]
    return settle([Scored(e.record.model_copy(update=changes), e.judgement) for e in scored], PROTOCOL)


SYSTEMS = {"mine": settled("mine"), "yours": settled("yours", 0.6)}


def test_failures_are_spread_over_cells() -> None:
    found = instructive("mine", SYSTEMS)
    assert len(found) == MOST
    order = [list(Lesson).index(failure.lesson) for failure in found]
    assert order == sorted(order)
    cells = Counter((failure.record.domain, failure.record.query_category) for failure in found)
    assert max(cells.values()) <= MOST_OF_A_CELL
    assert len({failure.record.interaction_id for failure in found}) == MOST


def test_the_surest_hallucination_comes_first() -> None:
    wrong = [turn for turn in SYSTEMS["mine"] if turn.alone is Verdict.INCORRECT]
    surest = max(turn.scored.record.answer.confidence for turn in wrong if turn.scored.record.answer)
    first = instructive("mine", SYSTEMS)[0]
    assert first.lesson is Lesson.HALLUCINATED
    assert first.record.answer is not None
    assert first.record.answer.confidence == surest


def test_refusing_what_cannot_be_answered_is_no_failure() -> None:
    unanswerable = Truth(interaction_id="x", answer_type=AnswerType.UNANSWERABLE)
    found = instructive("mine", {"mine": with_records(SYSTEMS["mine"], truth=unanswerable)})
    assert {failure.lesson for failure in found} == {Lesson.HALLUCINATED}


def test_a_request_that_failed_teaches_nothing_about_answers() -> None:
    found = instructive("mine", {"mine": with_records(SYSTEMS["mine"], answer=None, error="overloaded")})
    assert found == ()


def with_evidence(text: str, **changes: object) -> Settled:
    record = SYSTEMS["mine"][0].scored.record
    assert record.answer is not None
    assert record.answer.explanation is not None
    seen = record.answer.explanation.evidence[0].model_copy(update={"text": text})
    told = record.answer.explanation.model_copy(update={"evidence": [seen]})
    answer = record.answer.model_copy(update={"explanation": told, "citations": []})
    changed = record.model_copy(update={"answer": answer, **changes})
    return settle([Scored(changed, Judgement(Verdict.MISSING, ""))], PROTOCOL)[0]


def test_evidence_match_ignores_accents_and_case() -> None:
    truth = Truth(interaction_id="x", answer_type=AnswerType.NAME, accepted=("Émile Zola",))
    assert gold_in_evidence(with_evidence("… written by EMILE ZOLA, in Paris.", truth=truth))
    assert not gold_in_evidence(with_evidence("… written by Emile Zolas.", truth=truth))


def test_a_yes_in_the_evidence_is_not_the_answer() -> None:
    truth = Truth(interaction_id="x", answer_type=AnswerType.BOOLEAN, accepted=("yes",))
    gold = "Yes, the warranty covers water damage."
    assert not gold_in_evidence(with_evidence("Oh yes, a fine day.", truth=truth, gold=gold))
    assert gold_in_evidence(
        with_evidence("So yes: its warranty covers water damage.", truth=truth, gold=gold)
    )
