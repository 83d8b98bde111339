"""Recall at k against a naive count."""

import random
from typing import Any

import pytest

from evaluation.data.model import AnswerType, Part, Truth
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.scoring.measures import Measure, measure
from evaluation.scoring.protocols import Protocol, Scored
from loreglass_client.models import Explanation, SearchResult
from tests.unit.evaluation.records import answered, turn_of

THINGS = ("Salt Road", "The Salt Road!", "Glass Harbour", "Tin Lantern")
TEXTS = ("It has 312 pages.", "It has 1312 pages.", "Written by Mira Holm", "nothing at all")


def recall(of: str, k: int) -> Measure:
    return measure(f"{of}_recall@{k}", Protocol.KDD_CUP_2025)


def scored(
    number: int,
    found: list[SearchResult] | None,
    truth: Truth | None,
    stages: Any = None,
    degraded: Any = (),
    **usage: int,
) -> Scored:
    """One turn: what its explanation tells; None: nothing was explained."""
    searched = {each.stage for each in found or ()} if stages is None else stages
    answer = answered(
        "x", timings_ms=dict.fromkeys(searched, 1.0), model_usage=usage, degraded=list(degraded),
        explanation=None if found is None else Explanation(found=found),
    )  # fmt: skip
    return Scored(turn_of(str(number), answer, truth=truth), Judgement(Verdict.CORRECT, "made up"))


def thing(name: str, stage: str = "image_search") -> SearchResult:
    return SearchResult(stage=stage, title=name, url="")


def page(text: str, url: str = "u", stage: str = "text_search") -> SearchResult:
    return SearchResult(stage=stage, title="A page", url=url, text=text)


def truth(**parts: Any) -> Truth:
    fields = {"answer_type": AnswerType.NUMBER, "accepted": ("312",), "photographed": "Salt Road"}
    return Truth(interaction_id="1", **{**fields, **parts})


def counted_by_hand(rows: list[dict[str, Any]], k: int) -> tuple[float, float]:
    """Shares of the rows whose first `k` names, and whose first `k` pages' words, hold the gold."""
    named = recalled = 0
    for row in rows:
        seen: list[str] = []
        for name in row["names"]:
            if name not in seen:
                seen.append(name)
        named += not {"Salt Road", "The Salt Road!"}.isdisjoint(seen[:k])
        urls: list[str] = []
        for url, _ in row["pages"]:
            if url not in urls:
                urls.append(url)
        words = [w.strip(".") for url, text in row["pages"] if url in urls[:k] for w in text.split()]
        recalled += "312" in words
    return named / len(rows), recalled / len(rows)


@pytest.mark.parametrize("seed", range(8))
def test_recall_equals_a_naive_count(seed: int) -> None:
    chance = random.Random(seed)
    rows = [
        {
            "names": [chance.choice(THINGS) for _ in range(6)],
            "pages": [(chance.choice("abcdef"), chance.choice(TEXTS)) for _ in range(8)],
        }
        for _ in range(30)
    ]
    answers = [
        scored(n, [*map(thing, row["names"]), *(page(text, url) for url, text in row["pages"])], truth())
        for n, row in enumerate(rows)
    ]
    for k in (1, 2, 3):
        named, recalled = counted_by_hand(rows, k)
        assert recall("image", k).of(answers) == pytest.approx(named)
        assert recall("page", k).of(answers) == pytest.approx(recalled)


def test_empty_search_is_a_miss() -> None:
    hit = scored(1, [thing("Salt Road")], truth())
    nothing = scored(2, [], truth(), stages=["image_search"])
    elsewhere = scored(3, [thing("Salt Road", "crop_search")], truth())
    failed = scored(5, [], truth(), stages=["image_search"], degraded=["image_search"])
    silent = scored(4, None, truth(), stages=["image_search"])
    answers = [hit, nothing, elsewhere, failed, silent]
    assert list(recall("image", 1).values(answers)) == [(Part.SINGLE, "1", 0), (Part.SINGLE, "2", 0)]
    assert recall("image", 1).of(answers) == 0.5
    assert recall("crop", 1).of(answers) == 1


def test_recall_above_the_search_depth_is_undefined() -> None:
    answers = [scored(1, [thing("Salt Road"), thing("Tin Lantern")], truth())]
    assert recall("image", 2).of(answers) == 1
    assert recall("image", 3).of(answers) != recall("image", 3).of(answers)


@pytest.mark.parametrize(
    "gold",
    [
        None,
        truth(accepted=()),
        truth(answer_type=AnswerType.BOOLEAN, accepted=("yes",)),
        truth(answer_type=AnswerType.UNANSWERABLE),
        truth(needs="photo"),
    ],
)
def test_questions_without_an_identifiable_page_are_skipped(gold: Truth | None) -> None:
    assert recall("page", 1).values([scored(1, [page("It has 312 pages.")], gold)]) == {}


def test_calls_and_tokens_are_means_over_answers() -> None:
    answers = [scored(1, None, None, calls=2, prompt_tokens=900), scored(2, None, None, calls=5)]
    names = ("calls", "prompt_tokens")
    assert [measure(name, Protocol.KDD_CUP_2025).of(answers) for name in names] == [3.5, 450]


def test_article_recall_counts_first_photo_hit_and_all_tool_hits() -> None:
    first, second = thing("Tin Lantern"), thing("Salt Road")
    by_tool = thing("The Salt Road!", "crop_search")
    rows = [
        scored(0, [second, first], truth()),
        scored(1, [first, second], truth()),
        scored(2, [first, by_tool], truth()),
        scored(3, [first], truth(photographed="")),
        scored(4, None, truth()),
    ]
    assert measure("article_recall", Protocol.KDD_CUP_2025).of(rows) == pytest.approx(2 / 3)


def test_stages_and_signals_are_measured_by_name() -> None:
    times, signals = {"caption": 4.0, "answer": 2.0}, {"calls_of_flipping": 2}
    answer = answered("x", timings_ms=times, explanation={"signals": signals})
    rows = [Scored(turn_of("a", answer), Judgement(Verdict.CORRECT, ""))]
    names = ("stages_ms:caption+answer+cropper", "signal:calls_of_flipping")
    assert [measure(name, Protocol.KDD_CUP_2025).of(rows) for name in names] == [6.0, 2.0]
