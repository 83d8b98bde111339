"""Score answers to InfoSeek, E-VQA and OK-VQA exactly as their released scorers do, oddities included.

InfoSeek: `infoseek_eval.py` of edchengg/infoseek_eval. A text is right if it equals a gold by SQuAD's
normalisation; a number if it lies in the gold's range, a range if it lies in it or their overlap is half of
their union. Of the numbers in an answer the first two count.
E-VQA: `evaluation_utils.py` of google-research/encyclopedic_vqa: exact match, else BEM, a BERT that compares
two answers (Bulian et al. 2022), which only `BemJudge` asks. A list is right if both lists share half of
their union.
OK-VQA: `vqaEval.py` of GT-Vision-Lab/VQA. A third for each of up to three people who said the same, as the
mean over leaving out one of the ten.
"""

import math
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import anyio.to_thread

from evaluation.data.model import AnswerType, Scorer, Truth
from evaluation.judging.text import is_refusal, normalise
from evaluation.judging.verdicts import BEM, Case, JudgeError, Judgement, Verdict

_MOST_READ = 20_000
"""Characters of an answer."""


def judge_by_benchmark(case: Case, truth: Truth) -> Judgement:
    """Return the verdict of a request that did not fail; half a point is right."""
    score = benchmark_score(case.answer, truth)
    if score < 0.5 and (case.abstained or is_refusal(case.answer)):
        return Judgement(Verdict.MISSING, "refused")
    return Judgement(Verdict.CORRECT if score >= 0.5 else Verdict.INCORRECT, f"{truth.scorer} {score:.2f}")


def benchmark_score(answer: str, truth: Truth) -> float:
    """Return 0 to 1 by the scorer of the truth's benchmark, which it must have."""
    assert truth.scorer is not None
    return _SCORES[truth.scorer](answer[:_MOST_READ], truth)


def _infoseek(answer: str, truth: Truth) -> float:
    if truth.range is None:
        return float(normalise(answer) in map(normalise, truth.accepted))
    numbers = _numbers(answer)
    if len(numbers) == 1:
        return float(truth.range[0] <= numbers[0] <= truth.range[1])
    return float(_overlaps(numbers or (0.0, 0.0), truth.range))


_NUMBER = re.compile(r"[-+]?\.?\d+(?:,\d{3})*\.?\d*(?:[eE][-+]?\d+)?")


def _numbers(answer: str) -> Sequence[float]:
    """Return the first two numbers if they are in order, else the first; empty if there is no number."""
    parted = "".join(
        " - " if char == "-" and place and answer[place - 1].isdigit() else char
        for place, char in enumerate(answer)
    )
    numbers = [_number(each) for each in _NUMBER.findall(parted)[:2]]
    return numbers if numbers == sorted(numbers) else numbers[:1]


def _number(text: str) -> float:
    """Return ".5" as 5, and "1.2.3" as 1, as the released scorer does."""
    plain = text.replace(",", "").strip(".")
    try:
        return float(plain.split(".")[0] if plain.count(".") > 1 else plain)
    except ValueError:  # "-.5.": the released scorer ends here
        return 0.0


def _overlaps(numbers: Sequence[float], gold: Sequence[float]) -> bool:
    if all(gold[0] <= each <= gold[1] for each in numbers):
        return True
    low, high = min(numbers), max(numbers)
    shared = max(0.0, min(high, max(gold)) - max(low, min(gold)))
    union = (high - low + 1e-12) + (max(gold) - min(gold) + 1e-12) - shared
    return union != 0 and shared / union >= 0.5 - 1e-12


def _evqa(answer: str, truth: Truth) -> float:
    same = _same_list if truth.answer_type is AnswerType.SET else _same_answer
    return float(any(same(gold, answer) for gold in truth.accepted))


def _same_answer(gold: str, answer: str) -> bool:
    return bool(plain := _plain(gold)) and plain == _plain(answer)


def _same_list(gold: str, answer: str) -> bool:
    golds = set(filter(None, map(_plain, gold.split(LIST))))
    answers = set(filter(None, map(_plain, answer.replace(" and ", ",").replace(" & ", ",").split(","))))
    return bool(golds) and len(golds & answers) / len(golds | answers) >= 0.5


LIST = "&&"
"""Between the members of one of E-VQA's lists."""
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {"none": "0"} | {word: str(number) for number, word in enumerate(_NUMBER_WORDS)}
_WORDS = _DIGITS | {"entailment": "yes", "true": "yes", "contradiction": "no", "false": "no"}
_MARKS = str.maketrans("", "", string.punctuation + "‘’´")
_SPAN = "<extra_id_0> "  # before the answers of T5
_ARTICLES = re.compile(r"\b(?:the answer is|a|an|the)\b")


def _plain(text: str) -> str:
    lower = text.lower().replace("\n", " ").replace("\t", " ").strip()
    if lower.startswith(_SPAN):
        lower = lower.replace(_SPAN, "")
    words = _ARTICLES.sub(" ", lower.translate(_MARKS)).split()
    return " ".join(_WORDS.get(word, word) for word in words)


def _okvqa(answer: str, truth: Truth) -> float:
    plain, golds = _strip(answer), list(map(_strip, truth.accepted))
    if len(set(golds)) > 1:
        plain, golds = _spoken(plain), list(map(_spoken, golds))
    same = golds.count(plain)
    return sum(min(1.0, (same - (gold == plain)) / 3) for gold in golds) / len(golds) if golds else 0.0


def _strip(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()


_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_POINT = re.compile(r"\.(?!\d)")
_MOST_POINTS = 32
_DIGIT_COMMA = re.compile(r"\d,\d")
_STEMS = {
    "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
    "n't've": "could had might should would",
    "'ve": "could might must not should they we what where who would you",
    "'d've": "he it she somebody someone something there they we who y'all you",
    "'d": "he how it someone something there they where who you",
    "'ll": "how it somebody someone something they what who why y'all you",
    "'re": "there they what why you",
    "'s": "he how somebody someone that there what when where who why",
    "": "'ow's'at 'twas ma'am o'clock y'all",
}


def _misspelt() -> Iterator[tuple[str, str]]:
    """Each contraction with one of its apostrophes left out, and as it is written."""
    for ending, stems in _STEMS.items():
        for word in (stem + ending for stem in stems.split()):
            for place, char in enumerate(word):
                if char == "'":
                    yield word[:place] + word[place + 1 :], word
    yield "somebody'd", "somebodyd"  # so the released table has it


_CONTRACTIONS = dict(_misspelt())


def _spoken(text: str) -> str:
    plain, digits = text, _DIGIT_COMMA.search(text) is not None
    for mark in _PUNCTUATION:
        beside_space = f"{mark} " in text or f" {mark}" in text
        plain = plain.replace(mark, "" if digits or beside_space else " ")
    words = (_DIGITS.get(word, word) for word in _POINT.sub("", plain, count=_MOST_POINTS).lower().split())
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in ("a", "an", "the"))


_SCORES: Mapping[Scorer, Callable[[str, Truth], float]] = {
    Scorer.INFOSEEK: _infoseek,
    Scorer.EVQA: _evqa,
    Scorer.OKVQA: _okvqa,
}


THRESHOLD = 0.5
_MODEL = "https://tfhub.dev/google/answer_equivalence/bem/1"
_VOCABULARY = "gs://cloud-tpu-checkpoints/bert/keras_bert/uncased_L-12_H-768_A-12/vocab.txt"
_CLS, _SEP, _LENGTH = 101, 102, 512

Equivalence = Callable[[str, str, str], float]
"""From a question, a gold answer and an answer, the probability that both answers mean the same."""


class BemJudge:
    """Judges answers to E-VQA as its released scorer does."""

    name = BEM

    def __init__(self, equivalence: Equivalence) -> None:
        self._equivalence = equivalence

    async def judge(self, case: Case) -> Judgement:
        """Return the verdict; `failed` if the question is not E-VQA's."""
        return await anyio.to_thread.run_sync(self._judge, case)

    def _judge(self, case: Case) -> Judgement:
        if case.truth is None or case.truth.scorer is not Scorer.EVQA:
            return Judgement(Verdict.INCORRECT, "BEM judges E-VQA only", failed=True)
        if case.failed:
            return Judgement(Verdict.MISSING, "the request failed")
        exact = judge_by_benchmark(case, case.truth)
        if exact.verdict is Verdict.CORRECT:
            return exact
        golds = (gold.replace(LIST, ",") for gold in case.truth.accepted)
        likely = max((self._equivalence(case.question, gold, case.answer) for gold in golds), default=0.0)
        return Judgement(Verdict.CORRECT if likely >= THRESHOLD else exact.verdict, f"BEM {likely:.2f}")


def open_bem(folder: str = "") -> Equivalence:
    """Load the published model, or its copy in a folder with `vocab.txt`. Raises `JudgeError`. Blocking."""
    try:
        import tensorflow as tf
        import tensorflow_hub as hub
        import tensorflow_text as tf_text
    except ImportError as error:
        raise JudgeError("BEM needs: pip install tensorflow tensorflow-hub tensorflow-text") from error
    vocabulary = str(Path(folder) / "vocab.txt") if folder else _VOCABULARY
    try:
        tokenizer = tf_text.BertTokenizer(
            vocabulary, token_out_type=tf.int64, preserve_unused_token=True, lower_case=True
        )
        model = hub.load(folder or _MODEL)
    except (OSError, ValueError, tf.errors.OpError) as error:
        raise JudgeError(
            f"BEM cannot be loaded ({type(error).__name__}). Give a folder with the model and BERT's"
            f" vocab.txt as --model: {_MODEL}, {_VOCABULARY}"
        ) from error

    def tokens(text: str) -> list[int]:
        return [int(each) for each in tokenizer.tokenize([text]).flat_values.numpy()]

    def equivalence(question: str, gold: str, answer: str) -> float:
        segments = [[*tokens(each), _SEP] for each in (answer, gold, question)]
        segments[0].insert(0, _CLS)
        kinds = [[place] * len(each) for place, each in enumerate(segments)]
        ids, types = (
            tf.constant([[*chain(*rows), *[0] * _LENGTH][:_LENGTH]], tf.int64) for rows in (segments, kinds)
        )
        different, same = (float(each) for each in model({"input_ids": ids, "segment_ids": types})[0])
        return 1 / (1 + math.exp(min(different - same, 700.0)))

    return equivalence
