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


@pytest.fixture(scope="module")
def artefact() -> Artefact:
    return load()


@pytest.fixture(scope="module")
def thing() -> RGB:
    return picture("menu-0071")


def features(photo: RGB) -> LocalFeatures:
    return describe(photo, OPTIONS)


def probability(artefact: Artefact, photo: RGB, known: RGB) -> float:
    evidence = verify(QueryFeatures.of(features(photo)), features(known))
    return artefact.calibration.probability(evidence)


def test_thing_is_recognised_in_hard_photos(artefact: Artefact, thing: RGB) -> None:
    turned, dark = np.ascontiguousarray(np.rot90(warped(thing), 2)), (warped(thing) * 0.18).astype(np.uint8)
    for photo in (warped(thing), turned, dark):
        assert probability(artefact, photo, thing) > 0.8
    hidden = warped(thing)
    hidden[340:] = (60, 90, 60)
    assert probability(artefact, hidden, thing) > 0.5


def test_a_sign_that_shares_some_of_its_words_is_not_the_same_sign(artefact: Artefact) -> None:
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


def test_rivals_for_one_place_share_their_probability() -> None:
    box = (0.1, 0.1, 0.6, 0.6)
    own, sibling = settle([Claim("a", 0.98, 100, box), Claim("b", 0.97, 100, box)], 2.0)
    assert 0.45 < sibling < own < 0.55


def test_strong_claim_beats_its_rival() -> None:
    box = (0.1, 0.1, 0.6, 0.6)
    own, sibling = settle([Claim("a", 0.98, 400, box), Claim("b", 0.97, 80, box)], 2.0)
    assert own > 0.9
    assert sibling < 0.1


def test_things_side_by_side_are_no_rivals() -> None:
    left, right = Claim("a", 0.98, 80, (0.0, 0.0, 0.4, 1.0)), Claim("b", 0.97, 80, (0.5, 0.0, 1.0, 1.0))
    assert settle([left, right], 2.0) == pytest.approx([0.98, 0.97])


def test_features_survive_their_file(thing: RGB, tmp_path: Path) -> None:
    written, key = features(thing), content_key(thing, OPTIONS)
    folder = FeatureFolder(tmp_path)
    folder.write(key, written)
    read = FeatureFolder(tmp_path).read(key)
    assert np.array_equal(read.descriptors, written.descriptors)
    assert np.array_equal(read.plainness, written.plainness)
    assert np.allclose(read.points, written.points, atol=0.26)
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".features"]


@pytest.mark.parametrize("cut", [3, 30, 500])
def test_a_damaged_features_file_is_told_from_a_whole_one(thing: RGB, cut: int) -> None:
    data = encode(features(thing))
    with pytest.raises(DamagedFeatures):
        decode(data[:cut])


def test_photos_described_in_another_way_have_another_key(thing: RGB) -> None:
    other = replace(OPTIONS, keypoints=7)
    assert content_key(thing, OPTIONS) != content_key(thing, other)
    assert content_key(thing, OPTIONS) == content_key(thing.copy(), OPTIONS)


def test_an_artefact_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    np.savez(path, format=np.int64(0), signals=np.array(["x"]))
    with pytest.raises(UnusableArtefact):
        load(path)
