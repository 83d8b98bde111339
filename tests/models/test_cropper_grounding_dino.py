"""Grounding DINO on tiny random weights, against transformers and in its service."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoTokenizer,
    GroundingDinoForObjectDetection,
    GroundingDinoImageProcessorPil,
    GroundingDinoProcessor,
)

from chassis.accelerator import Accelerator
from chassis.rgb import RGB
from chassis.startup import CannotStart
from services.cropper.app import create_app
from services.cropper.engines.detector import Boxes, GroundingDinoDetector, Sight
from services.cropper.engines.grounding_dino import DetectionOptions, GroundingDinoCropper
from services.cropper.settings import CropperSettings, Engine
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny_gdino import tiny_gdino

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


def direct(folder: Path, photo: RGB, canvas: tuple[int, int]) -> dict[str, Any]:
    """Return the detections of transformers' own model and processor, used as documented."""
    model: Any = GroundingDinoForObjectDetection.from_pretrained(folder).eval()
    pictures = GroundingDinoImageProcessorPil.from_pretrained(folder)
    processor: Any = GroundingDinoProcessor(pictures, AutoTokenizer.from_pretrained(folder))
    pad = {"height": canvas[0], "width": canvas[1]}
    inputs = processor(images=photo, text=[LABELS], pad_size=pad, return_tensors="pt")
    with torch.no_grad():
        output = model(**inputs)
    results: list[dict[str, Any]] = processor.post_process_grounded_object_detection(
        output, threshold=0.0, text_threshold=0.3, target_sizes=[photo.shape[:2]]
    )
    return results[0]


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
    folder: Path,
    parity: Parity,
    height: int,
    width: int,
    canvas: tuple[int, int],
    name: str,
) -> None:
    photo = noise(height, width)
    (prompt,) = detector.prompts.write(LABELS, 6)
    (seen,) = detector.forward([Sight(detector.prepare(photo), prompt.token_ids)])
    expected = direct(folder, photo, canvas)
    corners = seen.corners * np.array([width, height, width, height], np.float32)
    boxes = float(np.abs(corners - expected["boxes"].numpy()).max()) / max(width, height)
    scores = float(np.abs(seen.scores.max(axis=1) - expected["scores"].numpy()).max())
    parity("cropper grounding_dino", f"transformers' model and processor, {name}: boxes", boxes)
    parity("cropper grounding_dino", f"transformers' model and processor, {name}: scores", scores)


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


def test_label_groups_equal_single_prompts(detector: GroundingDinoDetector) -> None:
    photo = noise(256, 384)
    pairs = GroundingDinoCropper(detector, options=DetectionOptions(2, 0.0, 0.0, 1.0)).crop(
        photo, LABELS, 100
    )
    first = GroundingDinoCropper(detector, options=EVERYTHING).crop(photo, LABELS[:2], 100)
    second = GroundingDinoCropper(detector, options=EVERYTHING).crop(photo, LABELS[2:], 100)
    assert len(pairs) == len(first) + len(second)


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
def test_malicious_labels_do_not_fail(detector: GroundingDinoDetector, labels: list[str]) -> None:
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


async def test_the_service_does_not_start_with_a_wrong_folder(tmp_path: Path) -> None:
    settings = CropperSettings(port=0, engine=Engine.GROUNDING_DINO, model=str(tmp_path), device="cpu")
    with pytest.raises(CannotStart, match=r"could not start: .*'grounding-dino' is needed"):
        async with live(create_app(settings)):
            pass


def scripted(*boxes: tuple[tuple[float, float, float, float], float]) -> Any:
    """Return a forward pass with fixed results: box corners as fractions of the photo, and token scores."""

    def forward(sights: Sequence[Sight]) -> list[Boxes]:
        scores = np.zeros((len(boxes), len(sights[0].token_ids)), np.float32)
        scores[:, 1] = [score for _, score in boxes]
        return [Boxes(np.array([corners for corners, _ in boxes], np.float32), scores)]

    return forward


PAIRS = DetectionOptions(group_size=1)


def test_small_regions_rank_last_and_low_scores_are_dropped(
    detector: GroundingDinoDetector,
) -> None:
    nan = float("nan")
    forward = scripted(
        ((-0.1, 0.2, 0.5, 0.8), 0.95),
        ((0.6, 0.6, 0.7, 0.7), 0.9),
        ((0.3, 0.3, 0.8, 0.8), 0.45),
        ((0.1, 0.2, 0.5, 0.8), 0.4),
        ((nan, 0.2, 0.5, 0.8), 0.9),
        ((0.2, 0.2, 0.5, 0.8), nan),
    )
    regions = GroundingDinoCropper(detector, forward, PAIRS).crop(noise(300, 400), ["cat"], 5)
    flags = [(region.small, region.touches_edge) for region in regions]
    assert flags == [(False, False), (False, True), (True, False)]
    assert [region.score for region in regions] == pytest.approx([0.45, 0.95, 0.9])
    assert regions[1].corners[0] == pytest.approx((0, 60))


def test_crop_is_cut_and_scaled(detector: GroundingDinoDetector) -> None:
    photo = np.zeros((1600, 2400, 3), np.uint8)
    photo[400:1200, 300:2100] = (200, 30, 30)
    forward = scripted(((0.125, 0.25, 0.875, 0.75), 0.9))
    (region,) = GroundingDinoCropper(detector, forward, PAIRS).crop(photo, ["car"], 1)
    assert region.crop.shape == (455, 1024, 3)
    assert (region.crop == (200, 30, 30)).all()
