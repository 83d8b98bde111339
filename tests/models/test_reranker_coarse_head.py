"""The coarse stage's trained head learns what question and photo say together, and is served as trained."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from transformers import AutoTokenizer, Blip2ForImageTextRetrieval, BlipImageProcessorPil

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights
from chassis.training_rows import UnreadableRows
from services.reranker import train_coarse
from services.reranker.app import create_app
from services.reranker.engines.cascade import CoarseStage
from services.reranker.engines.coarse_head import CoarseHead, load_coarse, question_vectors
from services.reranker.settings import RerankerSettings
from services.reranker.train_coarse import CannotTrain, Report, Run, parse, train
from services.reranker.tuning.contrastive import Epoch, Recipe
from services.reranker.tuning.rows import read_rows
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny_blip2 import tiny_blip2
from tests.models.tiny_domain import coloured

CPU = Accelerator("cpu", "float32")
RECIPE = Recipe(epochs=40, learning_rate=1e-2)
HUES, COPIES = (0, 3, 6, 9), 15
ASKED = {
    "Who built it?": "It was built by Ada, {}.",
    "What is it?": "The red dog or tower number {} is a book.",
}
"""Of each question the text that answers for a hue: neither question nor photo alone tells which."""


SAID = ("yes no", "a dog", "19 or 7", "the tower the tower")


def text(question: str, hue: int) -> str:
    return ASKED[question].format(SAID[HUES.index(hue)])


def write_rows(folder: Path) -> Path:
    """A row for each photo and question, with the texts of the photo's other question as a hard negative."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for hue in HUES:
        for copy in range(COPIES):
            name = f"{hue}-{copy}.png"
            Image.fromarray(coloured(hue, copy)).save(folder / name)
            for question in ASKED:
                (other,) = set(ASKED) - {question}
                lines.append(
                    {
                        "question": question,
                        "image": name,
                        "positive": text(question, hue),
                        "negatives": [text(other, hue)],
                    }
                )
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_blip2(tmp_path_factory.mktemp("coarse") / "blip2")


@pytest.fixture(scope="module")
def run(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("coarse-rows")
    return Run(
        (write_rows(folder),), folder / "head.safetensors", model=str(base), device="cpu", recipe=RECIPE
    )


@pytest.fixture(scope="module")
def report(run: Run) -> Report:
    return train(run)


def test_the_head_ranks_what_answers_first_for_photos_that_it_has_not_seen(report: Report) -> None:
    assert report.before.at[1] < 0.5
    assert report.after.at[1] > 0.9
    assert report.after.mrr > report.before.mrr + 0.4


def test_rows_of_one_photo_are_of_one_part(report: Report) -> None:
    parts = [
        {report.reading.rows[place].digest for place in part}
        for part in (report.split.training, report.split.validation, report.split.held_out)
    ]
    assert all(parts)
    assert sum(map(len, parts)) == len(HUES) * COPIES == len(set().union(*parts))


def test_the_report_beside_the_head_says_what_it_was_worth(run: Run, report: Report) -> None:
    written = json.loads(run.output.with_suffix(".json").read_text("utf-8"))
    assert written["held_out"]["head"]["at"] == {str(k): share for k, share in report.after.at.items()}
    assert written["epochs"][-1]["loss"] < written["epochs"][1]["loss"] / 2


def test_a_run_that_was_broken_off_goes_on_to_the_same_head(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(run.recipe, epochs=6)
    whole, broken = (replace(run, output=tmp_path / f"{n}.safetensors", recipe=short) for n in "ab")
    train(whole)
    seen: list[int] = []

    def stop(epoch: Epoch) -> None:
        seen.append(epoch.number)
        if epoch.number == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(train_coarse, "_watch", stop)
    with pytest.raises(KeyboardInterrupt):
        train(broken)
    train(replace(broken, recipe=replace(short, seed=21, epochs=1)))  # another run's: it begins anew
    monkeypatch.setattr(train_coarse, "_watch", lambda epoch: seen.append(epoch.number))
    train(broken)
    assert seen == [1, 2, 3, 4, 1, 4, 5, 6]
    assert broken.output.read_bytes() == whole.output.read_bytes()
    assert list(tmp_path.glob("*.partial")) == []


def test_the_loaded_head_gives_equation_2_with_blip2s_own_states(
    run: Run, base: Path, report: Report, parity: Parity
) -> None:
    qformer, head = load_coarse("", str(run.output), CPU)
    photo, (question, other) = coloured(3, 900), ASKED
    texts = [text(question, 3), text(other, 3), text(question, 6)]
    stage = CoarseStage(question_vectors(qformer, head), qformer.text_vectors)
    model = Blip2ForImageTextRetrieval.from_pretrained(base).eval()
    tokens = AutoTokenizer.from_pretrained(base)(question, return_tensors="pt")
    pixels = BlipImageProcessorPil.from_pretrained(base)(photo, return_tensors="pt")["pixel_values"]
    tensors = load_file(run.output)
    with torch.inference_mode():
        states = model.qformer(
            query_embeds=model.embeddings(input_ids=tokens["input_ids"], query_embeds=model.query_tokens),
            query_length=model.query_tokens.shape[1],
            encoder_hidden_states=model.vision_model(pixels).last_hidden_state,
        ).last_hidden_state[0, : model.query_tokens.shape[1]]
        asked = states @ tensors["weight"].T + tensors["bias"]
        read = torch.from_numpy(np.stack(qformer.text_vectors(texts)))
        direct = torch.cosine_similarity(asked[:, None], read[None], dim=-1).amax(dim=0)
    found = stage.score(question, photo, texts)
    assert max(found) == found[0]
    parity("reranker, coarse head", "Blip2 layers, matmul", np.abs(np.array(found) - direct.numpy()).max())


@pytest.mark.anyio
async def test_the_service_ranks_by_the_head_and_its_threshold(
    run: Run, report: Report, tmp_path: Path
) -> None:
    qformer, head = load_coarse("", str(run.output), CPU)
    assert head is not None
    assert 0 < head.threshold == report.threshold
    strict = replace(head, threshold=0.7)
    strict.save(tmp_path / "strict.safetensors")
    photo, question = coloured(6, 901), "Who built it?"
    documents = [text(each, hue) for each in ASKED for hue in HUES]
    stage = CoarseStage(question_vectors(qformer, head), qformer.text_vectors)
    scores = stage.score(question, photo, documents)
    settings = RerankerSettings(
        port=0, engine="cascade", fine=False, coarse_head=str(tmp_path / "strict.safetensors"), device="cpu"
    )
    held = io.BytesIO()
    Image.fromarray(photo).save(held, "PNG")
    async with live(create_app(settings)) as client:
        reply = await client.post(
            "/v1/rerank",
            data={"request": json.dumps({"query": question, "documents": documents})},
            files={"image": ("photo.png", held.getvalue(), "image/png")},
        )
    found = {each["index"]: each["relevance_score"] for each in reply.json()["results"]}
    assert max(found, key=lambda index: found[index]) == documents.index(text(question, 6))
    expected = [score if score >= strict.threshold else 0.0 for score in scores]
    assert [found[place] for place in range(len(documents))] == pytest.approx(expected, abs=1e-5)
    assert 0 < expected.count(0.0) < len(documents)


def test_a_head_of_another_base_model_is_refused(
    run: Run, report: Report, base: Path, tmp_path: Path
) -> None:
    model = Blip2ForImageTextRetrieval.from_pretrained(base)
    with torch.no_grad():
        model.query_tokens.copy_(model.query_tokens.flip(-1))
    model.save_pretrained(tmp_path)
    for part in (AutoTokenizer, BlipImageProcessorPil):
        part.from_pretrained(base).save_pretrained(tmp_path)
    with pytest.raises(WrongWeights, match="coarse head was not trained on this base model"):
        load_coarse(str(tmp_path), str(run.output), CPU)


@pytest.mark.parametrize("change", ["threshold", "bias", "weight"])
def test_a_head_with_numbers_that_are_none_is_refused(
    run: Run, report: Report, tmp_path: Path, change: str
) -> None:
    head = CoarseHead.load(run.output)
    others = {
        "threshold": replace(head, threshold=2.0),
        "bias": replace(head, bias=head.bias + np.nan),
        "weight": replace(head, weight=head.weight[1:]),
    }
    others[change].save(tmp_path / "odd.safetensors")
    with pytest.raises(WrongWeights, match="is damaged"):
        load_coarse("", str(tmp_path / "odd.safetensors"), CPU)


def test_a_head_of_another_size_is_refused(run: Run, report: Report, tmp_path: Path) -> None:
    head = CoarseHead.load(run.output)
    replace(head, weight=head.weight[:, :16]).save(tmp_path / "narrow.safetensors")
    with pytest.raises(WrongWeights, match="of the shape"):
        load_coarse("", str(tmp_path / "narrow.safetensors"), CPU)


def test_rows_that_do_not_fit_are_named_and_left_out(run: Run) -> None:
    (path,) = run.rows
    bad = path.with_name("bad.jsonl")
    rows = [
        {"question": "What?", "image": "../secret.png", "positive": "a"},
        {"question": "What?", "image": "none.png", "positive": "a"},
        {"question": "", "image": "0-0.png", "positive": "a"},
    ]
    bad.write_text("no json\n" + "".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    reading = read_rows([path, bad])
    assert len(reading.rows) == len(HUES) * COPIES * len(ASKED)
    assert [each.place for each in reading.malformed] == [f"bad.jsonl, row {n}" for n in (1, 2, 3, 4)]
    assert "does not lie beside" in reading.malformed[1].problem
    with pytest.raises(UnreadableRows, match="no file"):
        read_rows([path.with_name("absent.jsonl")])


def test_too_few_photos_are_refused(run: Run, tmp_path: Path) -> None:
    (path,) = run.rows
    few = path.with_name("few.jsonl")
    few.write_text(path.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    with pytest.raises(CannotTrain, match="too few"):
        train(replace(run, rows=(few,), output=tmp_path / "head.safetensors"))
    with pytest.raises(CannotTrain, match="no folder"):
        train(replace(run, output=tmp_path / "absent" / "head.safetensors"))


def test_the_command_line_fills_in_the_recipe_and_refuses_what_makes_no_sense() -> None:
    run = parse(["a.jsonl", "--output", "head.safetensors", "--temperature", "0.1", "--seed", "3"])
    assert run.recipe == replace(Recipe(), seed=3, temperature=0.1)
    for wrong in (["--output", "head.npz"], ["--held-out", "0.9"], ["--patience", "0"]):
        with pytest.raises(SystemExit):
            parse(["a.jsonl", "--output", "head.safetensors", *wrong])
