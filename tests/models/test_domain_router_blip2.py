"""The BLIP-2 domain router: trained on tiny weights, against a direct computation, and over HTTP."""

import asyncio
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file
from safetensors.torch import save_file as torch_file
from transformers import AutoTokenizer, Blip2ForImageTextRetrieval, BlipImageProcessor

from chassis.accelerator import Accelerator
from chassis.http.app import EngineResources
from chassis.models.pretrained import WrongWeights
from chassis.telemetry.metrics import Metrics
from contracts.domain_router import ClassifyReply, Domain
from services.domain_router.app import create_app, open_engine
from services.domain_router.engines.blip2 import Blip2DomainRouter, load_blip2
from services.domain_router.engines.domain_head import FORMAT, DomainHead, softmax
from services.domain_router.settings import DomainRouterSettings, Engine
from services.domain_router.train import CannotTrain, Run, parse, train
from services.domain_router.tuning.encoders import FrozenEncoder
from services.domain_router.tuning.fitting import Recipe, logits_of
from services.domain_router.tuning.reporting import Report
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny_blip2 import tiny_blip2
from tests.models.tiny_domain import QUESTIONS, coloured, write_rows

LABELS = [domain.value for domain in Domain]
CPU = Accelerator("cpu", "float32")
PAIRS: list[tuple[str, NDArray[np.uint8] | None]] = [
    ("What is this?", coloured(3, 900)),
    ("Who built the red tower, and was it built by Ada as well?", coloured(8, 901)),
    ("Is it a book or a dog?", None),
    ("yes", coloured(11, 902)),
]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_blip2(tmp_path_factory.mktemp("domain") / "blip2")


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("domain-rows"), each=20)


@pytest.fixture(scope="session")
def run(base: Path, rows: Path) -> Run:
    return Run((rows,), rows.with_name("head.safetensors"), model=str(base))


@pytest.fixture(scope="session")
def report(run: Run) -> Report:
    return train(run)


@pytest.fixture(scope="session")
def head(run: Run, report: Report) -> Path:
    return run.output


@pytest.fixture(scope="session")
def engine(head: Path) -> Blip2DomainRouter:
    return opened(head)


def opened(head: Path, model: str = "", reads_text: bool = False) -> Blip2DomainRouter:
    qformer, loaded = load_blip2(head, LABELS, model, CPU)
    return Blip2DomainRouter(qformer.encode_questions, loaded, reads_text)


def jpeg(pixels: NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def settings(head: Path, **others: Any) -> DomainRouterSettings:
    return DomainRouterSettings(port=0, engine=Engine.BLIP2, head=str(head), device="cpu", **others)


def direct(base: Path, head: Path, question: str, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Probabilities by transformers and matrix products alone."""
    model = Blip2ForImageTextRetrieval.from_pretrained(base).eval()
    tokens = AutoTokenizer.from_pretrained(base)(question, return_tensors="pt")
    prepared = BlipImageProcessor.from_pretrained(base)(images=Image.fromarray(pixels), return_tensors="pt")
    tensors = load_file(head)
    with safe_open(head, framework="pt") as stored:
        temperature = json.loads(stored.metadata()["loreglass-domain-head"])["temperature"]
    with torch.inference_mode():
        seen = model.vision_model(pixel_values=prepared["pixel_values"]).last_hidden_state
        queries = model.query_tokens
        mask = torch.cat([torch.ones(queries.shape[:2], dtype=torch.long), tokens["attention_mask"]], dim=1)
        states = model.qformer(
            query_embeds=model.embeddings(input_ids=tokens["input_ids"], query_embeds=queries),
            query_length=queries.shape[1],
            attention_mask=mask,
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:2], dtype=torch.long),
        ).last_hidden_state
        feature = states[0, : queries.shape[1]].mean(dim=0)
        logits = tensors["weight"] @ feature + tensors["bias"]
        return np.asarray((logits / temperature).softmax(dim=0).numpy(), np.float64)


def test_the_engine_computes_what_blip2_and_a_matrix_product_give(
    base: Path, head: Path, engine: Blip2DomainRouter, parity: Parity
) -> None:
    photographed = [(question, pixels) for question, pixels in PAIRS if pixels is not None]
    differences = [
        np.abs(np.array(engine.classify(question, "", pixels)) - direct(base, head, question, pixels)).max()
        for question, pixels in photographed
    ]
    parity("domain_router: BLIP-2 + head", "Blip2ForImageTextRetrieval, matmul", max(differences))


def test_training_learns_what_the_pictures_show(report: Report) -> None:
    assert report.held_out is not None
    assert report.held_out.examples == 3 * len(Domain)
    assert report.held_out.macro_f1 > 0.8
    assert report.fitted.epochs[-1].loss < report.fitted.epochs[0].loss


def test_training_stops_when_the_validation_part_gets_no_better(report: Report) -> None:
    epochs, patience = report.fitted.epochs, Recipe().patience
    assert patience < len(epochs) < Recipe().epochs
    before, last = epochs[:-patience], epochs[-patience:]
    assert max(epoch.macro_f1 for epoch in last) <= max(epoch.macro_f1 for epoch in before)
    assert report.fitted.best.macro_f1 == max(epoch.macro_f1 for epoch in epochs)


def test_one_seed_gives_one_head(run: Run, report: Report, tmp_path: Path) -> None:
    again = train(replace(run, output=tmp_path / "again.safetensors"))
    other = train(
        replace(run, output=tmp_path / "other.safetensors", recipe=replace(run.recipe, seed=21, epochs=3))
    )
    assert np.array_equal(again.fitted.weight, report.fitted.weight)
    assert again.as_json() == report.as_json()
    assert (tmp_path / "again.safetensors").read_bytes() == run.output.read_bytes()
    assert other.split != report.split


def test_the_saved_head_gives_the_probabilities_that_training_saw(
    run: Run, report: Report, engine: Blip2DomainRouter
) -> None:
    qformer, _ = load_blip2(run.output, LABELS, "", CPU)
    chosen = [report.reading.examples[place] for place in report.split.held_out[:6]]
    encoder = FrozenEncoder(qformer, chosen, 4)
    trained = softmax(logits_of(encoder, report.fitted, range(6), 4) / report.temperature)
    for example, expected in zip(chosen, trained, strict=True):
        assert isinstance(example.photo, Path)
        pixels = np.asarray(Image.open(example.photo))
        assert engine.classify(example.question, "", pixels) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_head_trained_in_float32_is_served_in_half_precision(
    head: Path, engine: Blip2DomainRouter, dtype: str
) -> None:
    qformer, loaded = load_blip2(head, LABELS, "", Accelerator("cpu", dtype))
    half = Blip2DomainRouter(qformer.encode_questions, loaded)
    for question, pixels in PAIRS:
        assert half.classify(question, "", pixels) == pytest.approx(
            engine.classify(question, "", pixels), abs=0.1
        )


def test_who_else_is_in_a_batch_does_not_matter(head: Path) -> None:
    qformer, loaded = load_blip2(head, LABELS, "", CPU)
    together = qformer.encode_questions(PAIRS)
    for pair, states in zip(PAIRS, together, strict=True):
        alone = Blip2DomainRouter(qformer.encode_questions, loaded).classify(pair[0], "", pair[1])
        assert alone == pytest.approx(loaded.probabilities(states.mean(axis=0)[None])[0], abs=1e-5)


def test_a_question_without_a_photo_is_classified_too(engine: Blip2DomainRouter) -> None:
    probabilities = engine.classify("Is it a book or a dog?", "", None)
    assert len(probabilities) == len(Domain)
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-9)


def test_recognised_text_is_read_only_when_set_so(head: Path, engine: Blip2DomainRouter) -> None:
    question, pixels = "What is this?", coloured(4, 77)
    reading = opened(head, reads_text=True)
    plain = engine.classify(question, "", pixels)
    assert engine.classify(question, "the red tower", pixels) == plain
    assert reading.classify(question, "", pixels) == plain
    assert reading.classify(question, "the red tower", pixels) != plain
    assert reading.classify(question, "the red tower " * 500, pixels) != plain


def test_a_tuned_q_former_is_served_with_its_head(run: Run, base: Path, tmp_path: Path) -> None:
    recipe = replace(run.recipe, learning_rate=3e-2, tuned_rate=2e-3, epochs=7)
    tuning = replace(run, output=tmp_path / "tuned.safetensors", unfreeze="qformer", recipe=recipe)
    report = train(tuning)
    loaded = DomainHead.load(tuning.output, LABELS)
    assert {name.split(".")[0] for name in loaded.tuned} == {"qformer", "embeddings", "query_tokens"}
    served = opened(tuning.output)
    held_out = [report.reading.examples[place] for place in report.split.held_out]
    hits = [
        int(np.argmax(served.classify(each.question, "", np.asarray(Image.open(each.photo))))) == each.domain
        for each in held_out
        if isinstance(each.photo, Path)
    ]
    assert report.held_out is not None
    assert np.mean(hits) == pytest.approx(report.held_out.accuracy)
    assert report.held_out.macro_f1 > 0.8
    replace(loaded, tuned={}).save(tmp_path / "untuned.safetensors")
    with pytest.raises(WrongWeights, match="not trained on this base model"):
        opened(tmp_path / "untuned.safetensors", str(base))


def test_the_report_beside_the_head_names_every_row_that_was_left_out(
    base: Path, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {"session_id": "x", "image": None, "turns": {"domain": ["colour"], "query": ["What?"]}}
    for photo in rows.parent.glob("*.png"):
        (tmp_path / photo.name).symlink_to(photo)
    extended = tmp_path / "rows.jsonl"
    extended.write_text(rows.read_text("utf-8") + json.dumps(broken) + "\nno json\n", "utf-8")
    output = tmp_path / "head.safetensors"
    train(Run((extended,), output, model=str(base), recipe=Recipe(epochs=1)))
    written = json.loads(output.with_suffix(".json").read_text("utf-8"))
    assert [each["place"] for each in written["malformed"]] == ["rows.jsonl, row 261", "rows.jsonl, row 262"]
    assert written["malformed"][0]["problem"] == "'colour' is no domain of CRAG-MM"
    assert written["examples"] == {"training": 182, "validation": 39, "held_out": 39, "without_photo": 0}
    printed = capsys.readouterr().out
    assert "2 malformed rows left out" in printed
    assert "held out (39): accuracy" in printed


def test_rows_to_test_on_are_held_out_whole(run: Run, tmp_path: Path) -> None:
    test = write_rows(tmp_path / "test", each=2, seed=400)
    with pytest.raises(CannotTrain, match="Some sessions are among"):
        train(replace(run, output=tmp_path / "head.safetensors", test=(test,)))
    test.write_text(test.read_text("utf-8").replace('"session_id": "', '"session_id": "t'), "utf-8")
    recipe = replace(run.recipe, epochs=2)
    report = train(replace(run, output=tmp_path / "head.safetensors", test=(test,), recipe=recipe))
    assert report.split.held_out == tuple(range(260, 286))
    assert len(report.split.training) + len(report.split.validation) == 260


def test_a_checkpoint_without_a_place_is_refused_before_training(run: Run, tmp_path: Path) -> None:
    with pytest.raises(CannotTrain, match="no folder"):
        train(replace(run, output=tmp_path / "absent" / "head.safetensors"))


def test_too_few_rows_are_refused(base: Path, tmp_path: Path) -> None:
    few = write_rows(tmp_path / "few", each=2)
    with pytest.raises(CannotTrain, match="too few"):
        train(Run((few,), tmp_path / "head.safetensors", model=str(base)))


@pytest.mark.parametrize(
    "arguments",
    [
        ["rows.jsonl", "--output", "head.npz"],
        ["rows.jsonl", "--output", "head.safetensors", "--validation", "0"],
        ["rows.jsonl", "--output", "head.safetensors", "--held-out", "0.9"],
        ["rows.jsonl", "--output", "head.safetensors", "--patience", "0"],
        ["--output", "head.safetensors"],
    ],
)
def test_the_command_line_refuses_what_makes_no_sense(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        parse(arguments)


def test_the_command_line_fills_in_the_recipe() -> None:
    run = parse(["a.jsonl", "b", "--output", "head.safetensors", "--unfreeze", "qformer", "--seed", "3"])
    assert (run.rows, run.unfreeze) == ((Path("a.jsonl"), Path("b")), "qformer")
    assert run.recipe == replace(Recipe(), seed=3)
    assert run.model == "Salesforce/blip2-itm-vit-g"


class TestAHeadThatDoesNotFit:
    """Refuses to be loaded, with a sentence that says why."""

    def test_other_labels(self, head: Path, tmp_path: Path) -> None:
        swapped = [LABELS[1], LABELS[0], *LABELS[2:]]
        with pytest.raises(WrongWeights, match="trained for other labels: animal, book"):
            load_blip2(head, swapped, "", CPU)

    def test_another_base_model(self, base: Path, head: Path, tmp_path: Path) -> None:
        model = Blip2ForImageTextRetrieval.from_pretrained(base)
        with torch.no_grad():
            model.query_tokens.copy_(
                torch.randn(model.query_tokens.shape, generator=torch.Generator().manual_seed(0))
            )
        model.save_pretrained(tmp_path)
        for part in (AutoTokenizer, BlipImageProcessor):
            part.from_pretrained(base).save_pretrained(tmp_path)
        with pytest.raises(WrongWeights, match="not trained on this base model"):
            opened(head, str(tmp_path))

    def test_another_feature_size(self, head: Path, tmp_path: Path) -> None:
        loaded = DomainHead.load(head, LABELS)
        narrow = replace(loaded, weight=loaded.weight[:, :16], witness=loaded.witness[:, :16])
        narrow.save(tmp_path / "narrow.safetensors")
        with pytest.raises(WrongWeights, match="reads 16 features, the Q-Former gives 32"):
            opened(tmp_path / "narrow.safetensors")

    def test_weights_that_the_base_model_does_not_have(self, head: Path, tmp_path: Path) -> None:
        loaded = DomainHead.load(head, LABELS)
        replace(loaded, tuned={"qformer.extra": loaded.bias}).save(tmp_path / "extra.safetensors")
        with pytest.raises(WrongWeights, match=r"tuned 'qformer\.extra'"):
            opened(tmp_path / "extra.safetensors")

    @pytest.mark.parametrize("change", ["temperature", "bias"])
    def test_numbers_that_are_none(self, head: Path, tmp_path: Path, change: str) -> None:
        loaded = DomainHead.load(head, LABELS)
        other = {
            "temperature": replace(loaded, temperature=0.0),
            "bias": replace(loaded, bias=loaded.bias + np.nan),
        }
        other[change].save(tmp_path / "odd.safetensors")
        with pytest.raises(WrongWeights, match="is damaged"):
            opened(tmp_path / "odd.safetensors")

    def test_a_file_of_something_else(self, base: Path, tmp_path: Path) -> None:
        with pytest.raises(WrongWeights, match="is no loreglass-domain-head"):
            opened(base / "model.safetensors")
        half = {"weight": torch.zeros(2, dtype=torch.bfloat16)}
        torch_file(half, tmp_path / "half.safetensors", {FORMAT: "{}"})
        with pytest.raises(WrongWeights, match="not of float32"):
            opened(tmp_path / "half.safetensors")
        (tmp_path / "text.safetensors").write_text("not a checkpoint")
        with pytest.raises(WrongWeights, match="cannot be read"):
            opened(tmp_path / "text.safetensors")
        with pytest.raises(WrongWeights, match="cannot be read"):
            opened(tmp_path / "absent.safetensors")

    def test_no_head_at_all(self) -> None:
        resources = EngineResources(Metrics("domain_router"))
        with pytest.raises(ValueError, match="needs head"):
            open_engine(DomainRouterSettings(engine=Engine.BLIP2), resources)


@pytest.mark.anyio
class TestOverHttp:
    """The real service on tiny weights."""

    async def test_a_picture_decides(self, head: Path, engine: Blip2DomainRouter) -> None:
        pixels = coloured(6, 800)
        async with live(create_app(settings(head))) as client:
            answer = await client.post(
                "/v1/classify",
                data={"question": QUESTIONS[0]},
                files={"image": ("photo.png", jpeg(pixels), "image/png")},
            )
            without = await client.post("/v1/classify", data={"question": QUESTIONS[0]})
            ready = await client.get("/health/ready")
            info = await client.get("/info")
        (only,) = ClassifyReply.model_validate(answer.json()).data
        assert only.label is Domain.PLANTS_AND_GARDENING
        assert only.probs == pytest.approx(engine.classify(QUESTIONS[0], "", pixels), abs=1e-5)
        assert without.status_code == 200
        assert ready.json()["status"] == "ok"
        assert (info.json()["engine"], info.json()["device"]) == ("blip2", "cpu")

    async def test_many_at_once_share_passes_and_keep_their_own_answers(
        self, head: Path, engine: Blip2DomainRouter
    ) -> None:
        pictures = [coloured(number % len(Domain), 700 + number) for number in range(16)]
        async with live(create_app(settings(head, batch_wait_ms=200.0))) as client:
            answers = await asyncio.gather(
                *(
                    client.post(
                        "/v1/classify",
                        data={"question": QUESTIONS[number % 4]},
                        files={"image": ("photo.png", jpeg(pixels), "image/png")},
                    )
                    for number, pixels in enumerate(pictures)
                )
            )
            metrics = (await client.get("/metrics")).text
        for number, (answer, pixels) in enumerate(zip(answers, pictures, strict=True)):
            (only,) = ClassifyReply.model_validate(answer.json()).data
            assert only.probs == pytest.approx(engine.classify(QUESTIONS[number % 4], "", pixels), abs=1e-5)
        passes = next(line for line in metrics.splitlines() if line.startswith("loreglass_batch_items_count"))
        assert float(passes.rsplit(" ", 1)[1]) < len(pictures)

    async def test_a_head_for_other_labels_keeps_the_service_from_starting(
        self, head: Path, tmp_path: Path
    ) -> None:
        loaded = DomainHead.load(head, LABELS)
        replace(loaded, labels=tuple(reversed(LABELS))).save(tmp_path / "other.safetensors")
        app = create_app(settings(tmp_path / "other.safetensors"))
        with pytest.raises(RuntimeError, match="could not start"):
            async with live(app):
                raise AssertionError("it started")
