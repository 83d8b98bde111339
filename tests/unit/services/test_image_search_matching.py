"""Features, matching, verification, VLAD and calibration of classical image search."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from chassis.rgb import RGB
from services.image_search.engines.classical.calibration import (
    Artefact,
    Claim,
    UnusableArtefact,
    load,
    settle,
)
from services.image_search.engines.classical.features import (
    DamagedFeatures,
    DescribeOptions,
    FeatureFolder,
    LocalFeatures,
    content_key,
    decode,
    describe,
    encode,
)
from services.image_search.engines.classical.verification import QueryFeatures, verify
from tests.unit.services.sample_pictures import picture, warped

OPTIONS = DescribeOptions(long_side=480, keypoints=1200)
THING = picture("menu-0071")


@pytest.fixture(scope="module")
def artefact() -> Artefact:
    return load()


def features(photo: RGB) -> LocalFeatures:
    return describe(photo, OPTIONS)


def probability(artefact: Artefact, photo: RGB, known: RGB) -> float:
    evidence = verify(QueryFeatures.of(features(photo)), features(known))
    return artefact.calibration.probability(evidence)


def test_object_is_recognised_in_difficult_photos(artefact: Artefact) -> None:
    turned, dark = np.ascontiguousarray(np.rot90(warped(THING), 2)), (warped(THING) * 0.18).astype(np.uint8)
    for photo in (warped(THING), turned, dark):
        assert probability(artefact, photo, THING) > 0.8
    hidden = warped(THING)
    hidden[340:] = (60, 90, 60)
    assert probability(artefact, hidden, THING) > 0.5


def test_sign_with_some_equal_words_is_not_matched(artefact: Artefact) -> None:
    sign = np.full((360, 560, 3), 235, np.uint8)
    other = sign.copy()
    for row, (line, changed) in enumerate(
        [("HARBOUR CAFE", "STATION BAR"), ("opening hours", "opening hours"), ("soup 4.50", "cake 3.20")]
    ):
        for board, words in ((sign, line), (other, changed)):
            cv2.putText(board, words, (40, 90 + 100 * row), cv2.FONT_HERSHEY_DUPLEX, 1.9, (20, 30, 60), 3)
    photo = warped(sign, ((0.05, 0.3), (0.95, 0.25), (0.9, 0.75), (0.08, 0.8)))
    assert probability(artefact, photo, sign) > 0.8
    assert probability(artefact, photo, other) < 0.5


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (16, 16)])
def test_tiny_photos_are_described_without_errors(shape: tuple[int, int]) -> None:
    photo = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert len(features(photo)) >= 0


@pytest.mark.parametrize(
    ("points", "place", "settled"),
    [
        ((100, 100), (0.0, 0.0, 0.4, 1.0), (0.5, 0.5)),
        ((400, 80), (0.0, 0.0, 0.4, 1.0), (0.95, 0.05)),
        ((80, 80), (0.5, 0.0, 1.0, 1.0), (0.98, 0.97)),  # entities side by side do not compete
    ],
)
def test_competing_matches_share_their_probability(
    points: tuple[int, int], place: tuple[float, float, float, float], settled: tuple[float, float]
) -> None:
    claims = [Claim("a", 0.98, points[0], (0.0, 0.0, 0.4, 1.0)), Claim("b", 0.97, points[1], place)]
    own, other = settle(claims, 2.0)
    assert own > other
    assert (own, other) == pytest.approx(settled, abs=0.05)


def test_features_survive_their_file(tmp_path: Path) -> None:
    written, key = features(THING), content_key(THING, OPTIONS)
    folder = FeatureFolder(tmp_path)
    folder.write(key, written)
    read = FeatureFolder(tmp_path).read(key)
    assert np.array_equal(read.descriptors, written.descriptors)
    assert np.array_equal(read.plainness, written.plainness)
    assert np.allclose(read.points, written.points, atol=0.26)
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".features"]


@pytest.mark.parametrize("cut", [3, 30, 500])
def test_a_damaged_features_file_is_detected(cut: int) -> None:
    data = encode(features(THING))
    with pytest.raises(DamagedFeatures):
        decode(data[:cut])


def test_feature_key_depends_on_the_method() -> None:
    other = replace(OPTIONS, keypoints=7)
    assert content_key(THING, OPTIONS) != content_key(THING, other)
    assert content_key(THING, OPTIONS) == content_key(THING.copy(), OPTIONS)


def test_an_artefact_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    np.savez(path, format=np.int64(0), signals=np.array(["x"]))
    with pytest.raises(UnusableArtefact):
        load(path)
