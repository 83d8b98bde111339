"""Grounding DINO on tiny random weights, against transformers and in its service."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image
from transformers import (
    AutoTokenizer,
    GroundingDinoForObjectDetection,
    GroundingDinoImageProcessorPil,
    GroundingDinoProcessor,
)

from chassis.accelerator import Accelerator
from chassis.models.batching import BatchLimits, MicroBatcher
from chassis.models.pretrained import WrongWeights
from chassis.startup import CannotStart
from contracts.cropper import CropReply
from services.cropper.app import create_app
from services.cropper.engines.detector import Boxes, GroundingDinoDetector, Sight
from services.cropper.engines.grounding_dino import DetectionOptions, GroundingDinoCropper
from services.cropper.settings import CropperSettings, Engine
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny import wordpiece
from tests.models.tiny_gdino import tiny_gdino

RGB = npt.NDArray[np.uint8]

CPU = Accelerator("cpu", "float32")
EVERYTHING = DetectionOptions(box_threshold=0.0, text_threshold=0.0, most_overlap=1.0)
LABELS = ["red dog", "cat", "blue tower book"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gdino(tmp_path_factory.mktemp("gdino"))


@pytest.fixture(scope="session")
def detector(folder: Path) -> GroundingDinoDetector:
    return GroundingDinoDetector.from_pretrained(str(folder), CPU)


def noise(height: int, width: int, seed: int = 0) -> RGB:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


class Reference:
    """transformers' class and processor, called as its documentation says."""

    def __init__(self, folder: Path) -> None:
        self.model: Any = GroundingDinoForObjectDetection.from_pretrained(folder).eval()
        self.processor: Any = GroundingDinoProcessor(
            GroundingDinoImageProcessorPil.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        )

    def detect(self, photo: RGB, labels: Sequence[str], canvas: tuple[int, int]) -> dict[str, Any]:
        pad = {"height": canvas[0], "width": canvas[1]}
        inputs = self.processor(images=photo, text=[list(labels)], pad_size=pad, return_tensors="pt")
        with torch.no_grad():
            output = self.model(**inputs)
        found: list[dict[str, Any]] = self.processor.post_process_grounded_object_detection(
            output, threshold=0.0, text_threshold=0.3, target_sizes=[photo.shape[:2]]
        )
        return found[0]


@pytest.fixture(scope="session")
def reference(folder: Path) -> Reference:
    return Reference(folder)


@pytest.mark.parametrize(
    ("height", "width", "canvas", "name"),
    [
        (256, 384, (128, 192), "no padding"),
        (300, 400, (128, 192), "padded on the right"),
        (401, 303, (192, 128), "padded below"),
    ],
)
def test_boxes_and_scores_are_those_of_transformers(
    detector: GroundingDinoDetector,
    reference: Reference,
    parity: Parity,
    height: int,
    width: int,
    canvas: tuple[int, int],
    name: str,
) -> None:
    photo = noise(height, width)
    (prompt,) = detector.prompts.write(LABELS, 6)
    (seen,) = detector.forward([Sight(detector.prepare(photo), prompt.token_ids)])
    expected = reference.detect(photo, LABELS, canvas)
    corners = seen.corners * np.array([width, height, width, height], np.float32)
    boxes = float(np.abs(corners - expected["boxes"].numpy()).max()) / max(width, height)
    scores = float(np.abs(seen.scores.max(axis=1) - expected["scores"].numpy()).max())
    parity("cropper grounding_dino", f"transformers' model and processor, {name}: boxes", boxes)
    parity("cropper grounding_dino", f"transformers' model and processor, {name}: scores", scores)


def test_regions_are_the_reference_boxes(detector: GroundingDinoDetector, reference: Reference) -> None:
    photo = noise(256, 384)
    regions = GroundingDinoCropper(detector, options=EVERYTHING).crop(photo, LABELS, 100)
    expected = reference.detect(photo, LABELS, (128, 192))
    boxes = np.clip(expected["boxes"].numpy(), 0, [384, 256, 384, 256])
    wide = (boxes[:, 2:] - boxes[:, :2]).min(axis=1) >= 4
    assert len(regions) == wide.sum() > 5
    for region in regions:
        distances = np.abs(boxes - np.array([*region.corners[0], *region.corners[2]])).max(axis=1)
        nearest = int(distances.argmin())
        assert distances[nearest] < 0.05
        assert region.score == pytest.approx(float(expected["scores"][nearest]), abs=1e-4)


def test_box_gets_the_callers_label(detector: GroundingDinoDetector, reference: Reference) -> None:
    photo = noise(256, 384)
    options = DetectionOptions(box_threshold=0.0, text_threshold=0.3, most_overlap=1.0)
    regions = GroundingDinoCropper(detector, options=options).crop(photo, ["Red DOG", "cat"], 100)
    expected = reference.detect(photo, ["Red DOG", "cat"], (128, 192))
    phrases = {
        round(float(score), 4): phrase
        for score, phrase in zip(expected["scores"], expected["text_labels"], strict=True)
    }
    named = [region for region in regions if region.label]
    assert {region.label for region in named} == {"Red DOG", "cat"}
    for region in named:
        phrase = phrases[round(region.score, 4)]
        assert any(word in f"{phrase} ." for word in f"{region.label} .".lower().split())


def test_batch_size_does_not_change_results(detector: GroundingDinoDetector, parity: Parity) -> None:
    sizes = [(256, 384), (300, 400), (400, 300), (480, 270), (300, 300)]
    prompts = detector.prompts.write(LABELS, 2)
    sights = [
        Sight(detector.prepare(noise(*size, seed)), prompt.token_ids)
        for seed, size in enumerate(sizes)
        for prompt in prompts
    ]
    together = detector.forward(sights)
    apart = [detector.forward([sight])[0] for sight in sights]
    differences = [
        max(float(np.abs(a.corners - b.corners).max()), float(np.abs(a.scores - b.scores).max()))
        for a, b in zip(together, apart, strict=True)
    ]
    parity("cropper grounding_dino", "a batch of photos and prompts: each alone", max(differences))


def test_label_groups_find_what_single_prompts_find(detector: GroundingDinoDetector) -> None:
    photo = noise(256, 384)
    pairs = GroundingDinoCropper(detector, options=DetectionOptions(2, 0.0, 0.0, 1.0)).crop(
        photo, LABELS, 100
    )
    first = GroundingDinoCropper(detector, options=EVERYTHING).crop(photo, LABELS[:2], 100)
    second = GroundingDinoCropper(detector, options=EVERYTHING).crop(photo, LABELS[2:], 100)
    assert len(pairs) == len(first) + len(second)


def test_concurrent_calls_share_a_batch(detector: GroundingDinoDetector) -> None:
    passes: list[int] = []
    batcher = MicroBatcher(detector.forward, BatchLimits(16, 0.0), observe=passes.append)
    photo = noise(300, 400)
    shared = GroundingDinoCropper(detector, batcher, DetectionOptions(1, 0.0, 0.0, 1.0))
    alone = GroundingDinoCropper(detector, options=DetectionOptions(1, 0.0, 0.0, 1.0))
    got, expected = (engine.crop(photo, LABELS, 100) for engine in (shared, alone))
    batcher.close()
    assert passes == [3]
    assert [region.label for region in got] == [region.label for region in expected]
    scores = [region.score for region in expected]
    assert [region.score for region in got] == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize(
    "labels",
    [
        ["a. b. c."],
        ["[SEP] cat [CLS]", "[PAD]", "[MASK]"],
        ["...", "?", "\u0000", "\u200b", "🙂"],
        ["\ud800 cat"],
        ["z\u0301\u0302" * 40, "ﷺ", "猫", "İstanbul"],
        ["supercalifragilistic" * 50],
        ["cat"] * 30,
        [f"book {number}" for number in range(32)],
    ],
)
def test_hostile_labels_do_not_fail(detector: GroundingDinoDetector, labels: list[str]) -> None:
    regions = GroundingDinoCropper(detector, options=EVERYTHING).crop(noise(64, 96), labels, 5)
    assert {region.label for region in regions} <= {*labels, None}
    prompts = detector.prompts.write(labels, 6)
    assert all(len(prompt.token_ids) <= 48 and len(prompt.phrases) <= 6 for prompt in prompts)


def test_without_a_label_nothing_is_computed(detector: GroundingDinoDetector) -> None:
    def refuse(sights: Sequence[Sight]) -> list[Any]:
        raise AssertionError(f"{len(sights)} sights")

    engine = GroundingDinoCropper(detector, refuse, EVERYTHING)
    assert engine.crop(noise(64, 96), [], 5) == []
    assert engine.crop(noise(64, 96), ["..."], 5) == []
    assert engine.crop(noise(64, 96), ["cat"], 0) == []


@pytest.mark.parametrize("size", [(1, 1), (1, 400), (16, 16), (17, 640), (1280, 40)])
def test_tiny_and_narrow_photos_do_not_fail(detector: GroundingDinoDetector, size: tuple[int, int]) -> None:
    engine = GroundingDinoCropper(detector, options=EVERYTHING)
    for region in engine.crop(noise(*size), ["cat"], 5):
        assert min(region.crop.shape[:2]) >= 1


def test_bfloat16_computes_but_coordinates_stay_exact(folder: Path) -> None:
    detector = GroundingDinoDetector.from_pretrained(str(folder), Accelerator("cpu", "bfloat16"))
    (prompt,) = detector.prompts.write(LABELS, 6)
    (seen,) = detector.forward([Sight(detector.prepare(noise(256, 384)), prompt.token_ids)])
    fine = seen.corners - torch.from_numpy(seen.corners).bfloat16().float().numpy()
    assert np.abs(fine).max() > 0
    assert np.isfinite(seen.scores).all()


def test_a_folder_without_a_model_is_refused_in_a_sentence(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(WrongWeights, match=r"(?i)grounding-?dino"):
        GroundingDinoDetector.from_pretrained(str(tmp_path), CPU)
    other = wordpiece(tmp_path / "vocabulary")
    model = GroundingDinoForObjectDetection.from_pretrained(folder)
    with pytest.raises(WrongWeights, match="uncased vocabulary"):
        GroundingDinoDetector(model, GroundingDinoImageProcessorPil(), other, CPU)


@pytest.mark.anyio
async def test_the_service_does_not_start_with_a_wrong_folder(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"could not start: .*'grounding-dino' is needed"):
        async with live(create_app(settings(tmp_path))):
            pass


def settings(folder: Path, **changes: Any) -> CropperSettings:
    return CropperSettings(port=0, engine=Engine.GROUNDING_DINO, model=str(folder), device="cpu", **changes)


def jpeg(photo: RGB) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(photo).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


@pytest.mark.anyio
async def test_the_service_finds_regions_by_label_with_the_model(folder: Path) -> None:
    low = settings(folder, box_threshold=0.01, text_threshold=0.01)
    async with live(create_app(low)) as client:
        ready = await client.get("/health/ready")
        files = {"image": ("photo.jpg", jpeg(noise(300, 400)), "image/jpeg")}
        reply = await client.post(
            "/v1/crop", files=files, data={"labels": ["cat", "red dog"], "max_regions": "3"}
        )
        unlabelled = await client.post("/v1/crop", files=files)
        info = await client.get("/info")
    assert ready.status_code == 200
    crops = CropReply.model_validate_json(reply.content)
    assert len(crops.regions) == 3
    for region in crops.regions:
        assert region.kind.value == "detection"
        assert region.label in {"cat", "red dog", None}
        assert 0 <= region.box.left < region.box.right <= 400
        assert 0 <= region.box.top < region.box.bottom <= 300
        assert Image.open(io.BytesIO(region.image)).format == "JPEG"
    assert unlabelled.json()["regions"] == []
    assert info.json()["engine"] == "grounding_dino"


def scripted(*boxes: tuple[int, tuple[float, float, float, float], float]) -> Any:
    """A forward pass with known results: (prompt, corners as fractions, score of its first token)."""

    def forward(sights: Sequence[Sight]) -> list[Boxes]:
        results = []
        for place, sight in enumerate(sights):
            own = [(corners, score) for prompt, corners, score in boxes if prompt == place]
            scores = np.zeros((len(own), len(sight.token_ids)), np.float32)
            scores[:, 1] = [score for _, score in own]
            results.append(Boxes(np.array([c for c, _ in own], np.float32).reshape(-1, 4), scores))
        return results

    return forward


PAIRS = DetectionOptions(group_size=1)


def test_small_and_cut_regions_come_last(detector: GroundingDinoDetector) -> None:
    forward = scripted(
        (0, (-0.1, 0.2, 0.5, 0.8), 0.95), (0, (0.6, 0.6, 0.7, 0.7), 0.9), (0, (0.3, 0.3, 0.8, 0.8), 0.45)
    )
    regions = GroundingDinoCropper(detector, forward, PAIRS).crop(noise(300, 400), ["cat"], 5)
    flags = [(region.small, region.touches_edge) for region in regions]
    assert flags == [(False, False), (False, True), (True, False)]
    assert [region.score for region in regions] == pytest.approx([0.45, 0.95, 0.9])
    assert regions[1].corners[0] == pytest.approx((0, 60))


def test_duplicate_regions_keep_the_surer_label(detector: GroundingDinoDetector) -> None:
    forward = scripted((0, (0.1, 0.2, 0.5, 0.8), 0.6), (1, (0.1, 0.21, 0.5, 0.8), 0.7))
    regions = GroundingDinoCropper(detector, forward, PAIRS).crop(noise(300, 400), ["car", "vehicle"], 5)
    assert [region.label for region in regions] == ["vehicle"]
    assert regions[0].score == pytest.approx(0.7)


def test_low_scores_and_nan_are_dropped(detector: GroundingDinoDetector) -> None:
    nan = float("nan")
    forward = scripted(
        (0, (0.1, 0.2, 0.5, 0.8), 0.4), (0, (nan, 0.2, 0.5, 0.8), 0.9), (0, (0.2, 0.2, 0.5, 0.8), nan)
    )
    assert GroundingDinoCropper(detector, forward, PAIRS).crop(noise(300, 400), ["car"], 5) == []


def test_crop_is_cut_and_scaled(detector: GroundingDinoDetector) -> None:
    photo = np.zeros((1600, 2400, 3), np.uint8)
    photo[400:1200, 300:2100] = (200, 30, 30)
    forward = scripted((0, (0.125, 0.25, 0.875, 0.75), 0.9))
    (region,) = GroundingDinoCropper(detector, forward, PAIRS).crop(photo, ["car"], 1)
    assert region.crop.shape == (455, 1024, 3)
    assert (region.crop == (200, 30, 30)).all()
