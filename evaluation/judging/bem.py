"""E-VQA's judge: exact match, else BEM, a BERT that compares two answers (Bulian et al. 2022)."""

import math
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import anyio.to_thread

from evaluation.data.model import Scorer
from evaluation.judging.benchmarks import LIST
from evaluation.judging.model_judge import JudgeError
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.verdicts import BEM, Case, Judgement, Verdict

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
        exact = judge_by_rules(case)
        if case.failed or exact.verdict is Verdict.CORRECT:
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
