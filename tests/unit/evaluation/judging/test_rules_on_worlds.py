"""The rules against everything that the synthetic world can ask, whatever its seed."""

import random
from collections.abc import Iterator

import pytest

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.agreement import agreement
from evaluation.judging.judge import judge
from evaluation.judging.port import Case, Judgement
from evaluation.judging.rules import judge_by_rules
from evaluation.world.generate import generate
from evaluation.world.plan import Split, plan_for
from evaluation.world.questions.ask import Ask
from evaluation.world.writing import truth_rows

_OTHERS = 10


def asked(seed: int, split: Split = Split.SAMPLE) -> Iterator[tuple[Ask, Truth]]:
    """Every question of a world with the truth as it is written to the folder."""
    made = generate(plan_for(split, seed, None))
    for session in (*made.questions, *made.conversations):
        for turn, row in zip(session.turns, truth_rows(session), strict=True):
            yield turn.ask, Truth.model_validate(row)


@pytest.mark.parametrize(
    ("seed", "split"), [*((seed, Split.SAMPLE) for seed in range(3, 8)), (3, Split.TEST), (3, Split.WILD)]
)
def test_every_gold_sentence_and_accepted_spelling_is_right(seed: int, split: Split) -> None:
    for ask, truth in asked(seed, split):
        expected = "correct" if ask.answerable else "missing"
        assert (judge(ask.answer, truth, ask.query).verdict, ask.query, ask.answer) == (
            expected,
            ask.query,
            ask.answer,
        )
        if truth.answer_type is not AnswerType.SET:
            for spelling in truth.accepted:
                assert (judge(spelling, truth, ask.query).verdict, spelling) == (expected, spelling)


@pytest.mark.parametrize("seed", [3, 4])
def test_answers_to_other_questions_are_hardly_ever_right(seed: int) -> None:
    cases = [(ask, truth) for ask, truth in asked(seed) if ask.answerable]
    chance = random.Random(seed)
    wrong = right = 0
    for ask, truth in cases:
        if truth.answer_type is AnswerType.BOOLEAN:
            continue
        for other, theirs in chance.sample(cases, min(_OTHERS, len(cases))):
            if other.subject.key != ask.subject.key and theirs.value != truth.value:
                verdict = judge(other.answer, truth, ask.query).verdict
                right, wrong = right + (verdict == "correct"), wrong + (verdict == "incorrect")
    assert wrong > 50
    assert right <= 0.02 * (right + wrong)


@pytest.mark.parametrize("seed", [3, 4])
def test_gold_sentences_alone_judge_nearly_as_the_whole_truth_does(seed: int) -> None:
    """As on CRAG-MM, which has no more than a sentence: right spellings, and other questions' answers."""
    cases = [(ask, truth) for ask, truth in asked(seed) if ask.answerable]
    chance = random.Random(seed)
    with_truth: dict[str, Judgement] = {}
    without: dict[str, Judgement] = {}
    for number, (ask, truth) in enumerate(cases):
        for place, said in enumerate((*truth.accepted[:2], chance.choice(cases)[0].answer)):
            name = f"{number}.{place}"
            with_truth[name] = judge_by_rules(Case(name, ask.query, ask.answer, said, truth))
            without[name] = judge_by_rules(Case(name, ask.query, ask.answer, said))
    found = agreement(with_truth, without)
    assert found.count > 50
    assert found.kappa > 0.85
