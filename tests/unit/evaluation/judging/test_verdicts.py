"""Verdicts that are kept, and answers that are cut before they are judged."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from evaluation.judging.agreement import agreement
from evaluation.judging.text import TokenizerError, open_cut
from evaluation.judging.verdicts import (
    Case,
    JudgeDown,
    Judgement,
    LabelsError,
    Verdict,
    VerdictCache,
    counts,
    judge_all,
    key_of,
    read_labels,
    verdict_file,
    verdicts_on,
)

RIGHT = Judgement(Verdict.CORRECT, "so it is")
WRONG = Judgement(Verdict.INCORRECT, "not so")
FAILED = Judgement(Verdict.INCORRECT, "timed out", failed=True)


class Killed(BaseException):
    """What ends a process in the middle of its work."""


class Counting:
    """A judge that says what it is told to, and counts."""

    name = "model:counting"
    version = "1"

    def __init__(self, verdict: Callable[[Case], Judgement] = lambda _: RIGHT) -> None:
        self._verdict = verdict
        self.requests: list[str] = []
        self.at_once = self.most_at_once = 0

    async def judge(self, case: Case) -> Judgement:
        self.requests.append(case.interaction_id)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await anyio.lowlevel.checkpoint()
        self.at_once -= 1
        return self._verdict(case)


def cases(count: int, answer: str = "answer {}") -> list[Case]:
    return [Case(f"i{n}", "question", "gold", answer.format(n)) for n in range(count)]


async def judged(path: Path, judge: Counting, some_cases: list[Case], *also: Path) -> dict[str, Judgement]:
    with VerdictCache(path, also) as cache:
        return await judge_all(some_cases, judge, concurrency=3, cache=cache)


def stored(path: Path, some_cases: list[Case]) -> dict[str, Judgement]:
    return verdicts_on(path, {each.interaction_id: key_of(each, Counting.name, "1") for each in some_cases})


async def test_judgements_keep_order_and_concurrency_limit() -> None:
    judge = Counting(lambda case: WRONG if case.interaction_id == "i3" else RIGHT)
    result = await judge_all(cases(20), judge, concurrency=3)
    assert list(result) == [f"i{n}" for n in range(20)]
    assert [name for name, judgement in result.items() if judgement is WRONG] == ["i3"]
    assert judge.most_at_once == 3


async def test_same_answer_is_judged_once(tmp_path: Path) -> None:
    judge = Counting()
    result = await judged(tmp_path / "j.jsonl", judge, cases(6, "the same"))
    assert len(judge.requests) == 1
    assert len(result) == len(stored(tmp_path / "j.jsonl", cases(6, "the same"))) == 6


async def test_verdict_of_another_run_is_reused_and_stored(tmp_path: Path) -> None:
    await judged(tmp_path / "a.jsonl", Counting(), cases(3))
    judge = Counting(lambda _: WRONG)
    others = (tmp_path / "a.jsonl", tmp_path / "none.jsonl")
    result = await judged(tmp_path / "b.jsonl", judge, cases(4), *others)
    assert judge.requests == ["i3"]
    assert counts(result) == {"correct": 3, "incorrect": 1}
    assert stored(tmp_path / "b.jsonl", cases(4)) == result


async def test_failed_judgement_is_stored_and_retried(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    failing = Counting(lambda case: FAILED if case.interaction_id == "i1" else RIGHT)
    first = await judged(path, failing, cases(3))
    assert stored(path, cases(3)) == first
    assert counts(first) == {"correct": 2, "failed": 1}
    judge = Counting(lambda _: WRONG)
    assert (await judged(path, judge, cases(3)))["i1"] == WRONG
    assert judge.requests == ["i1"]
    assert stored(path, cases(3))["i1"] == WRONG


async def test_incomplete_line_is_ignored_and_judged_again(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    await judged(path, Counting(), cases(3))
    path.write_bytes(path.read_bytes()[:-20])
    judge = Counting()
    await judged(path, judge, cases(3))
    assert len(judge.requests) == 1
    assert len(stored(path, cases(3))) == 3
    assert len(path.read_text().splitlines()) == 4


async def test_killed_run_keeps_its_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"

    def dies(case: Case) -> Judgement:
        if case.interaction_id == "i2":
            raise Killed
        return RIGHT

    with pytest.raises(BaseExceptionGroup), VerdictCache(path) as cache:
        await judge_all(cases(5), Counting(dies), concurrency=1, cache=cache)
    assert list(stored(path, cases(5))) == ["i0", "i1"]


async def test_always_failing_endpoint_stops_the_judging() -> None:
    judge = Counting(lambda _: FAILED)
    with pytest.raises(JudgeDown, match="timed out"):
        await judge_all(cases(500), judge, concurrency=2)
    assert len(judge.requests) <= 10


@pytest.mark.parametrize(
    ("one", "two"),
    [("model:a/b", "model:a-b"), ("model:../../x", "x"), ("model:a:b", "model:a b"), ("rules", "Rules")],
)
def test_each_judge_has_its_own_file_in_the_run(tmp_path: Path, one: str, two: str) -> None:
    first, second = verdict_file(tmp_path, one), verdict_file(tmp_path, two)
    assert first != second
    assert first.parent == second.parent == tmp_path / "verdicts"
    assert first.resolve().parent == (tmp_path / "verdicts").resolve()


def test_verdict_key_covers_all_inputs() -> None:
    case = Case("i", "q", "g", "a")
    changes = ({"question": "Q"}, {"gold": "G"}, {"answer": "A"}, {"abstained": True}, {"failed": True})
    others = [replace(case, **change) for change in changes]
    keys = {key_of(each, "j", "1") for each in (case, *others)}
    assert len(keys | {key_of(case, "k", "1"), key_of(case, "j", "2")}) == 8
    assert key_of(case, "j") == key_of(Case("other", "q", "g", "a"), "j")


def small_tokenizer(folder: Path) -> Path:
    """A tokenizer of words that begins every text with a token of its own, as Llama's does."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    vocabulary = {"<s>": 0, "?": 1, "well": 2, "no": 3}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["<s>"])
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $0", special_tokens=[("<s>", 0)]
    )
    folder.mkdir(exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    return folder


def test_special_start_token_counts_among_the_75(tmp_path: Path) -> None:
    folder = small_tokenizer(tmp_path / "llama")
    for path in (folder, folder / "tokenizer.json"):
        cut = open_cut(path)
        assert cut("well " * 80).split() == ["well"] * 74
        assert cut("well <s> no") == "well no"
        assert cut("") == ""
        assert cut.name == "llama/tokenizer.json, 75 tokens"


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_invalid_tokenizer_file_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        open_cut(path)


CSV = """interaction_id,label,annotator
i1,perfect,x
 i2 , Acceptable ,x
i3,missing,x
i4,INCORRECT,x
"""
FOUR = {"i1": Verdict.CORRECT, "i2": Verdict.ACCEPTABLE, "i3": Verdict.MISSING, "i4": Verdict.INCORRECT}


def test_labels_are_read_from_csv(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("\ufeff" + CSV, encoding="utf-8")
    judgements = read_labels(tmp_path / "labels.csv", FOUR.keys())
    assert {name: judgement.verdict for name, judgement in judgements.items()} == FOUR


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("i2,superb", "'superb' is none of perfect, acceptable, missing, incorrect"),
        ("i2", "'' is none of"),
        ("elsewhere,perfect", "'elsewhere' was not asked in this run"),
        ("i1,incorrect", "has a label already"),
    ],
)
def test_invalid_row_is_refused_with_its_line(tmp_path: Path, row: str, why: str) -> None:
    (tmp_path / "l.csv").write_text(f"interaction_id,label\ni1,perfect\n{row}\n")
    with pytest.raises(LabelsError, match=rf"l\.csv, line 3: .*{why}"):
        read_labels(tmp_path / "l.csv", {"i1", "i2"})


@pytest.mark.parametrize("content", [None, b"id,verdict\n1,2\n", b"", b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "l.csv").write_bytes(content)
    with pytest.raises(LabelsError, match=r"l\.csv"):
        read_labels(tmp_path / "l.csv", ())


C, M, X = Verdict.CORRECT, Verdict.MISSING, Verdict.INCORRECT


def judgements(*verdicts: Verdict) -> dict[str, Judgement]:
    return {f"i{n:02}": Judgement(verdict, "so") for n, verdict in enumerate(verdicts)}


def test_kappa_equals_the_textbook_example() -> None:
    """Cohen's example: 20 and 15 agreed on, 5 and 10 not, kappa .4."""
    first = judgements(*[C] * 25, *[X] * 25)
    second = judgements(*[C] * 20, *[X] * 5, *[C] * 10, *[X] * 15)
    result = agreement(first, second)
    assert (len(result.verdicts), result.accuracy) == (50, 0.7)
    assert result.kappa == pytest.approx(0.4)
    assert result.confusion.to_numpy().tolist() == [[20, 5], [10, 15]]


def test_worst_disagreements_come_first() -> None:
    result = agreement(judgements(M, C, C, C), judgements(X, M, X, C))
    assert result.disagreements == ["i02", "i00", "i01"]


def test_failed_and_unshared_are_counted() -> None:
    first = judgements(C, C, C) | {"only": Judgement(C, "")}
    second = judgements(C, C) | {"i02": Judgement(X, "timed out", failed=True)}
    result = agreement(first, second)
    assert (len(result.verdicts), result.accuracy, result.failed, result.unshared) == (2, 1, 1, 1)
    assert math.isnan(result.kappa)  # all are alike
    assert math.isnan(agreement({}, {}).accuracy)
    assert math.isnan(agreement({}, {}).kappa)
