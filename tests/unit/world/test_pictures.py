"""What the generator shows: photos and catalogue pictures."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps
from typer.testing import CliRunner

from evaluation.world.generate import Generated, app
from evaluation.world.model import Thing
from evaluation.world.photography.camera import homography, inside
from evaluation.world.photography.exif import save_jpeg
from evaluation.world.photography.shoot import (
    FRAME,
    catalogue_picture,
    pose_of,
    take,
    text_height,
)
from evaluation.world.questions.session import Quality, Session, Shot
from evaluation.world.rendering import Design, Pixels, design

GPS, ORIENTATION = 0x8825, 0x0112


def face(made: Generated, thing: Thing) -> Design:
    return design(made.world.plan, thing)


def shot_of(thing: Thing, quality: Quality = Quality.NORMAL, *shows: str) -> Shot:
    return Shot(f"photos/{thing.key}-{quality.value}.jpg", thing.key, frozenset(shows), quality)


def photo_of(made: Generated, thing: Thing, quality: Quality = Quality.NORMAL) -> Pixels:
    return take(made.world.plan, shot_of(thing, quality), thing.kind, face(made, thing))


def matches(photo: Pixels, catalogue: Pixels) -> int:
    """Inliers of ratio test, mutual check and MAGSAC, as an image search verifies a hit."""
    sift = cv2.SIFT_create(1500)  # type: ignore[attr-defined, unused-ignore]
    (ka, da), (kb, db) = (
        sift.detectAndCompute(cv2.cvtColor(cv2.resize(p, None, fx=0.6, fy=0.6), cv2.COLOR_RGB2GRAY), None)
        for p in (photo, catalogue)
    )
    matcher = cv2.BFMatcher()
    back = {m[0].queryIdx: m[0].trainIdx for m in matcher.knnMatch(db, da, k=1)}
    good = [
        m
        for m, n in matcher.knnMatch(da, db, k=2)
        if m.distance < 0.8 * n.distance and back.get(m.trainIdx) == m.queryIdx
    ]
    if len(good) < 8:
        return 0
    a = np.array([ka[m.queryIdx].pt for m in good], np.float32)
    b = np.array([kb[m.trainIdx].pt for m in good], np.float32)
    _, mask = cv2.findHomography(a, b, cv2.USAC_MAGSAC, 3.0)
    return 0 if mask is None else int(mask.sum())


def first(made: Generated, kind: str, number: int = 0) -> Thing:
    return [thing for thing in made.world.of_kind(kind) if thing.photographed][number]


@pytest.mark.parametrize("kind", ["painting", "book"])
def test_a_photo_matches_its_own_catalogue_picture_and_no_other_design(sample: Generated, kind: str) -> None:
    thing, other = first(sample, kind), first(sample, kind, 2)
    assert thing.style != other.style
    photo = photo_of(sample, thing)
    plan = sample.world.plan
    own = matches(photo, catalogue_picture(plan, thing.key, face(sample, thing)))
    foreign = matches(photo, catalogue_picture(plan, other.key, face(sample, other)))
    assert own >= 25 > foreign


def test_the_same_shot_gives_the_same_pixels(sample: Generated) -> None:
    thing = first(sample, "plaque")
    assert (photo_of(sample, thing) == photo_of(sample, thing)).all()


def test_low_light_is_much_darker_than_a_normal_photo(sample: Generated) -> None:
    thing = first(sample, "food")
    dark, normal = photo_of(sample, thing, Quality.LOW_LIGHT), photo_of(sample, thing)
    assert dark.mean() < 0.6 * normal.mean()


def test_what_is_asked_about_stays_in_the_frame(sample: Generated, dev: Generated) -> None:
    for made, sessions in ((sample, sample.questions), (dev, dev.questions[:30])):
        for session in sessions:
            shot = session.shot
            drawn = face(made, made.world.things[shot.subject])
            boxes = [drawn.regions[a] for a in shot.shows if a in drawn.regions]
            pose = pose_of(made.world.plan, shot, drawn)
            assert inside(homography(pose, drawn, FRAME), boxes, FRAME, margin=0), shot


def test_truncated_photos_lose_part_of_the_thing(sample: Generated) -> None:
    thing = first(sample, "gadget")
    drawn, shot = face(sample, thing), shot_of(first(sample, "gadget"), Quality.TRUNCATED, "model")
    height, width = drawn.picture.shape[:2]
    matrix = homography(pose_of(sample.world.plan, shot, drawn), drawn, FRAME)
    assert not inside(matrix, [(0, 0, width, height)], FRAME)
    assert inside(matrix, [drawn.regions["model"]], FRAME, margin=0)


@pytest.mark.parametrize(("kind", "title"), [("book", "title"), ("game", "title"), ("menu", "restaurant")])
def test_titles_are_at_least_24_pixels_high_in_normal_photos(
    sample: Generated, kind: str, title: str
) -> None:
    for thing in sample.world.of_kind(kind):
        if not thing.photographed:
            continue
        drawn, shot = face(sample, thing), shot_of(thing, Quality.NORMAL, title)
        matrix = homography(pose_of(sample.world.plan, shot, drawn), drawn, FRAME)
        assert text_height(drawn, matrix, title) >= 24


def test_every_printed_fact_that_is_asked_about_is_on_the_design(dev: Generated) -> None:
    drawn: dict[str, Design] = {}
    seen: dict[str, int] = {}
    for session in dev.questions:
        thing = dev.world.things[session.shot.subject]
        if seen.get(thing.kind, 0) >= 3:
            continue
        seen[thing.kind] = seen.get(thing.kind, 0) + 1
        regions = drawn.setdefault(thing.key, face(dev, thing)).regions
        assert session.shot.shows <= set(regions), thing.kind


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_turned_file_is_upright_again_after_its_exif_orientation(tmp_path: Path, orientation: int) -> None:
    picture = np.full((60, 40, 3), 30, np.uint8)
    picture[:20, :20] = 220
    path = tmp_path / "a.jpg"
    save_jpeg(path, picture, random.Random(1), orientation=orientation, gps=True)
    with Image.open(path) as image:
        assert image.getexif().get(ORIENTATION) == orientation
        assert image.getexif().get_ifd(GPS)
        upright = np.asarray(ImageOps.exif_transpose(image))
    assert upright.shape == picture.shape
    assert abs(upright.astype(int) - picture.astype(int)).mean() < 12


def test_some_photos_carry_gps_and_some_an_orientation(dev: Generated) -> None:
    shots = [session.shot for session in dev.questions]
    assert 0.1 <= sum(shot.gps for shot in shots) / len(shots) <= 0.4
    assert {shot.orientation for shot in shots} == {1, 3, 6, 8}


@pytest.mark.slow
def test_titles_can_be_read_by_ocr(sample: Generated) -> None:
    rapidocr = pytest.importorskip("rapidocr")
    reader = rapidocr.RapidOCR()
    for kind, attribute in (("book", "title"), ("plaque", "person")):
        thing = first(sample, kind)
        found = reader(np.ascontiguousarray(photo_of(sample, thing)[..., ::-1]))
        text = "".join(found.txts or ()).replace(" ", "").lower()
        assert thing.facts[attribute].value.text.replace(" ", "").lower() in text


@pytest.mark.slow
def test_the_command_writes_a_whole_world(tmp_path: Path) -> None:
    arguments = ["--split", "sample", "--entities", "12", "--seed", "2", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    for name in ("images", "pages", "questions", "conversations", "truth"):
        assert (tmp_path / f"{name}.jsonl").stat().st_size > 0
    assert len(list((tmp_path / "photos").iterdir())) == 24
    assert len(list((tmp_path / "pages").iterdir())) >= 20


def test_a_session_is_immutable(sample: Generated) -> None:
    session: Session = sample.questions[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        session.session_id = "other"  # type: ignore[misc]
