"""InfoSeek's, E-VQA's and OK-VQA's scores. Each right value is what the released scorer gives."""

import sys

import anyio
import pytest

from evaluation.data.model import Scorer, Truth
from evaluation.judging.benchmarks import BemJudge, benchmark_score, open_bem
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.verdicts import Case, JudgeError, Judgement, Verdict

RIDE = ("racing",) * 3 + ("race",) * 2 + ("motocross",) + ("ride",) * 4


def truth(scorer: Scorer, kind: str, *accepted: str, limits: tuple[float, float] | None = None) -> Truth:
    fields = {"interaction_id": "i", "answer_type": kind, "accepted": accepted}
    return Truth.model_validate(fields | {"scorer": scorer, "range": limits})


@pytest.mark.parametrize(
    ("answer", "golds", "score"),
    [
        ("the Chain-Ferry!", ("chainferry",), 1),
        ("chain ferry", ("chainferry",), 0),
        ("1881", ("12 May 1881", "1881"), 1),
        ("It is Edda Marr", ("Edda Marr",), 0),
        ("Edda  Marr\n", ("EDDA MARR.",), 1),
        ("", ("The",), 1),
    ],
)
def test_infoseeks_texts_are_compared_after_squads_normalisation(
    answer: str, golds: tuple[str, ...], score: float
) -> None:
    assert benchmark_score(answer, truth(Scorer.INFOSEEK, "name", *golds)) == score


@pytest.mark.parametrize(
    ("answer", "limits", "score"),
    [
        ("120", (108, 132), 1),
        ("108", (108, 132), 1),
        ("107.9", (108, 132), 0),
        ("about 1,150 m", (1100, 1200), 1),
        ("1e2", (90, 110), 1),
        ("-5", (-6, -4), 1),
        ("110-120", (108, 132), 1),
        ("100 to 140", (108, 132), 1),
        ("100 to 160", (108, 132), 0),
        ("90-130", (100, 120), 1),
        ("2019–2021", (2018, 2022), 1),
        ("130-100", (108, 132), 1),  # not in order: the first counts
        ("In 1881 it was 120 m", (108, 132), 0),
        ("3 or 120", (108, 132), 0),
        (".5", (4, 6), 1),  # the point is lost
        ("1.5.2", (1, 1.2), 0),
        ("-.5.3", (4, 6), 0),  # the released scorer cannot read it
        ("no idea", (108, 132), 0),
        ("no idea", (-1, 1), 1),  # taken for 0
    ],
)
def test_infoseeks_numbers_are_right_inside_the_range(
    answer: str, limits: tuple[float, float], score: float
) -> None:
    assert benchmark_score(answer, truth(Scorer.INFOSEEK, "number", "x", limits=limits)) == score


@pytest.mark.parametrize(
    ("answer", "golds", "score"),
    [
        ("The answer is: Two hares.", ("2 hares",), 1),
        ("true", ("Yes",), 1),
        ("none", ("zero",), 1),
        ("Edda Marr’s", ("Edda Marrs",), 1),
        ("<extra_id_0> bell", ("bell",), 1),
        ("bell", ("drum", "a bell"), 1),
        ("a bell", ("bells",), 0),
    ],
)
def test_evqas_answers_are_compared_after_its_normalisation(
    answer: str, golds: tuple[str, ...], score: float
) -> None:
    assert benchmark_score(answer, truth(Scorer.EVQA, "name", *golds)) == score


@pytest.mark.parametrize(
    ("answer", "golds", "score"),
    [
        ("moss and bark", ("moss&&bark",), 1),
        ("bark,  the moss", ("moss&&bark",), 1),
        ("moss", ("moss&&bark",), 1),
        ("moss, bark, lichen, nuts", ("moss&&bark",), 1),
        ("moss, grass", ("moss&&bark",), 0),
        ("moss, bark & grass, roots, nuts", ("moss&&bark",), 0),
        ("lichen", ("moss&&bark", "lichen"), 1),
    ],
)
def test_evqas_lists_are_right_if_half_of_all_members_are_shared(
    answer: str, golds: tuple[str, ...], score: float
) -> None:
    assert benchmark_score(answer, truth(Scorer.EVQA, "set", *golds)) == score


@pytest.mark.parametrize(
    ("answer", "golds", "score"),
    [
        ("ride", RIDE, 1),
        ("Ride!", RIDE, 1),
        ("the ride", RIDE, 1),
        ("racing", RIDE, 0.9),
        ("race", RIDE, 0.6),
        ("Motocross.", RIDE, 0.3),
        ("walk", RIDE, 0),
        ("cat", ("cat",) * 10, 1),
        ("Cat", ("cat",) * 10, 0),  # nothing is normalised where all agree
        ("dont", ("don't",) * 5 + ("do not",) * 5, 1),
        ("two", ("2",) * 5 + ("two",) * 2 + ("3",) * 3, 1),
        ("ice-cream", ("ice cream",) * 6 + ("x",) * 4, 1),
        ("icecream", ("ice- cream",) * 6 + ("x",) * 4, 0),
        ("1,000 a", ("1000",) * 6 + ("x",) * 4, 1),
        ("1.5 m.", ("1.5 m",) * 6 + ("x",) * 4, 1),
        ("red/green", ("red green",) * 2 + ("x",) * 8, 0.6),
    ],
)
def test_okvqa_pays_a_third_for_each_of_three_people(
    answer: str, golds: tuple[str, ...], score: float
) -> None:
    assert benchmark_score(answer, truth(Scorer.OKVQA, "name", *golds)) == pytest.approx(score)


def test_benchmark_rules_agree_with_the_benchmark_score() -> None:
    near = Case("i", "", "120", "about 115", truth(Scorer.INFOSEEK, "number", "120", limits=(108, 132)))
    assert judge_by_rules(near) == Judgement(Verdict.CORRECT, "infoseek 1.00")
    some = Case("i", "", "ride", "motocross", truth(Scorer.OKVQA, "name", *RIDE))
    assert judge_by_rules(some).verdict is Verdict.INCORRECT
    refused = Case("i", "", "moss", "I don't know.", truth(Scorer.EVQA, "name", "moss"))
    assert judge_by_rules(refused).verdict is Verdict.MISSING


LISTED = truth(Scorer.EVQA, "set", "moss&&bark", "lichen")


def by_bem(case: Case, *likely: float) -> tuple[Judgement, list[tuple[str, str, str]]]:
    pairs: list[tuple[str, str, str]] = []
    answers = iter(likely)

    def equivalence(question: str, gold: str, answer: str) -> float:
        pairs.append((question, gold, answer))
        return next(answers)

    return anyio.run(BemJudge(equivalence).judge, case), pairs


def test_bem_scores_every_gold_answer_if_none_matches() -> None:
    judgement, pairs = by_bem(Case("i", "What?", "", "mosses", LISTED), 0.5, 0.1)
    assert judgement == Judgement(Verdict.CORRECT, "BEM 0.50")
    assert pairs == [("What?", "moss,bark", "mosses"), ("What?", "lichen", "mosses")]
    assert by_bem(Case("i", "What?", "", "mosses", LISTED), 0.49, 0.1)[0].verdict is Verdict.INCORRECT


def test_bem_is_skipped_for_exact_matches_and_other_benchmarks() -> None:
    assert by_bem(Case("i", "What?", "", "lichen", LISTED))[0].verdict is Verdict.CORRECT
    other = truth(Scorer.OKVQA, "name", *RIDE)
    assert by_bem(Case("i", "What?", "", "ride", other))[0].failed


def test_bem_without_its_packages_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(JudgeError, match="pip install tensorflow tensorflow-hub tensorflow-text"):
        open_bem()
