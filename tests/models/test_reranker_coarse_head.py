"""The trained head of the coarse reranking stage: training, parity and HTTP."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights
from services.reranker.app import create_app
from services.reranker.engines.cascade import CoarseStage
from services.reranker.engines.coarse_head import CoarseHead, load_coarse, question_vectors
from services.reranker.settings import RerankerSettings
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny_blip2 import direct_states, with_other_queries
from tests.models.tiny_domain import coloured, read_summary, trained
from tests.unit.chassis.pictures import encoded
from training.config import WrongConfig
from training.heads.coarse_reranker import CHECKPOINT, train_coarse_reranker
from training.heads.settings import CoarseRerankerConfig, Recipe
from training.runs import RunFolder
from training.samples import Origin, PassagesSample, Task, part_of, read_samples, write_samples

CPU = Accelerator("cpu", "float32")
RECIPE = Recipe(epochs=40, patience=10, learning_rate=1e-2)
HUES, COPIES = (0, 3, 6, 9), 15
ASKED = {
    "Who built it?": "It was built by Ada, {}.",
    "What is it?": "The red dog or tower number {} is a book.",
}
"""Of each question the text that answers for a hue: neither question nor photo alone tells which."""


SAID = ("yes no", "a dog", "19 or 7", "the tower the tower")


def text(question: str, hue: int) -> str:
    return ASKED[question].format(SAID[HUES.index(hue)])


def write_passages(folder: Path) -> Path:
    """A sample for each photo and question, with the text of its other question as a hard negative."""
    (folder / "photos").mkdir(parents=True)
    samples = []
    for hue in HUES:
        for copy in range(COPIES):
            name = f"{hue}-{copy}"
            Image.fromarray(coloured(hue, copy)).save(folder / "photos" / f"{name}.png")
            for question in ASKED:
                (other,) = set(ASKED) - {question}
                samples.append(
                    PassagesSample(
                        id=f"{name} {question}",
                        task=Task.PASSAGES,
                        part=part_of(name),
                        origin=Origin(run="colours", interaction_id=name, session_id=name),
                        photo=f"photos/{name}.png",
                        question=question,
                        positive=text(question, hue),
                        negatives=(text(other, hue),),
                    )
                )
    write_samples(folder, Task.PASSAGES, samples)
    return folder


@pytest.fixture(scope="module")
def config(blip2: Path, tmp_path_factory: pytest.TempPathFactory) -> CoarseRerankerConfig:
    data = write_passages(tmp_path_factory.mktemp("coarse-passages") / "data")
    return CoarseRerankerConfig(
        head="coarse-reranker", data=(data,), model=str(blip2), device="cpu", recipe=RECIPE
    )


@pytest.fixture(scope="module")
def run(config: CoarseRerankerConfig, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(train_coarse_reranker, config, tmp_path_factory.mktemp("coarse-run") / "run")


@pytest.fixture(scope="module")
def saved(run: RunFolder) -> Path:
    return run.path / CHECKPOINT


def test_head_ranks_answers_first_for_new_photos(run: RunFolder) -> None:
    before, after = read_summary(run)["held_out"]["photo_alone"], read_summary(run)["held_out"]["head"]
    assert before["at"]["1"] < 0.5
    assert after["at"]["1"] > 0.9
    assert after["mrr"] > before["mrr"] + 0.4
    losses = [line["loss"] for line in run.metrics()]
    assert losses[-1] < losses[0] / 2


def test_the_loaded_head_gives_equation_2_with_blip2s_own_states(
    saved: Path, blip2: Path, parity: Parity
) -> None:
    qformer, head = load_coarse("", str(saved), CPU)
    photo, (question, other) = coloured(3, 900), ASKED
    texts = [text(question, 3), text(other, 3), text(question, 6)]
    stage = CoarseStage(question_vectors(qformer, head), qformer.text_vectors)
    tensors = load_file(saved)
    query_states = direct_states(blip2, question, photo) @ tensors["weight"].T + tensors["bias"]
    read = torch.from_numpy(np.stack(qformer.text_vectors(texts)))
    direct = torch.cosine_similarity(query_states[:, None], read[None], dim=-1).amax(dim=0)
    result = stage.score(question, photo, texts)
    assert max(result) == result[0]
    parity("reranker, coarse head", "Blip2 layers, matmul", np.abs(np.array(result) - direct.numpy()).max())


async def test_the_service_ranks_by_the_head_and_its_threshold(
    run: RunFolder, saved: Path, tmp_path: Path
) -> None:
    qformer, head = load_coarse("", str(saved), CPU)
    assert head is not None
    assert 0 < head.threshold == read_summary(run)["threshold"]
    photo, question = coloured(6, 901), "Who built it?"
    documents = [text(each, hue) for each in ASKED for hue in HUES]
    stage = CoarseStage(question_vectors(qformer, head), qformer.text_vectors)
    scores = stage.score(question, photo, documents)
    strict = replace(head, threshold=float(np.median(scores)))
    strict.save(tmp_path / "strict.safetensors")
    settings = RerankerSettings(
        port=0, engine="cascade", fine=False, coarse_head=str(tmp_path / "strict.safetensors"), device="cpu"
    )
    async with live(create_app(settings)) as client:
        reply = await client.post(
            "/v1/rerank",
            data={"request": json.dumps({"query": question, "documents": documents})},
            files={"image": encoded(Image.fromarray(photo), "PNG")},
        )
    results = {each["index"]: each["relevance_score"] for each in reply.json()["results"]}
    assert max(results, key=lambda index: results[index]) == documents.index(text(question, 6))
    expected = [score if score >= strict.threshold else 0.0 for score in scores]
    assert [results[place] for place in range(len(documents))] == pytest.approx(expected, abs=1e-5)
    assert 0 < expected.count(0.0) < len(documents)


def test_coarse_head_of_another_model_or_shape_is_refused(saved: Path, blip2: Path, tmp_path: Path) -> None:
    with pytest.raises(WrongWeights, match="coarse head was not trained on this base model"):
        load_coarse(str(with_other_queries(blip2, tmp_path / "other")), str(saved), CPU)
    head = CoarseHead.load(saved)
    for other in (replace(head, threshold=2.0), replace(head, weight=head.weight[1:])):
        other.save(tmp_path / "odd.safetensors")
        with pytest.raises(WrongWeights, match="is damaged"):
            load_coarse("", str(tmp_path / "odd.safetensors"), CPU)


def test_a_question_without_a_photo_cannot_be_learnt_from(
    config: CoarseRerankerConfig, tmp_path: Path
) -> None:
    data = write_passages(tmp_path / "data")
    samples = read_samples(data, Task.PASSAGES).samples
    bare = [each.model_copy(update={"photo": ""}) for each in samples[:1]]
    write_samples(data, Task.PASSAGES, [*bare, *samples[1:]])
    with pytest.raises(WrongConfig, match="with a photo only"):
        trained(train_coarse_reranker, config.model_copy(update={"data": (data,)}), tmp_path / "run")
