"""Real photos: indexed places are found, and others are never claimed.

Every choice of the one indexed photo of each place is tried, among the things of the sample.
"""

import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest

from chassis.pixels import decode_rgb
from chassis.rgb import RGB
from chassis.vectors.edge import EdgeStore
from deploy.settings import SAMPLE
from services.image_search.engine import KnownThing
from services.image_search.engines.builtin import BuiltinImageSearch
from tests.unit.services.sample_pictures import picture

CLAIM = 0.5
SINGLE = ("french", "japanese")
PLACES = ("piazza_san_marco", "st_pauls_cathedral", *SINGLE)


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_photos")]  # skip before anything is indexed


@dataclass(frozen=True)
class View:
    """A photo of a place."""

    place: str
    name: str
    photo: RGB


def again(photo: RGB, seed: int) -> RGB:
    """The photo of a photo: from the side, in other light, compressed anew."""
    rng = np.random.default_rng(seed)
    height, width = photo.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    moved = corners + rng.uniform(-0.13, 0.13, (4, 2)).astype(np.float32) * (width, height)
    model = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    seen = cv2.warpPerspective(photo, model, (width, height), borderValue=(110, 105, 100))
    lit = np.clip(np.asarray(seen, np.float32) * rng.uniform(0.45, 0.8), 0, 255).astype(np.uint8)
    _, data = cv2.imencode(".jpg", lit, [cv2.IMWRITE_JPEG_QUALITY, 60])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)


@pytest.fixture(scope="module")
def views(real_photos: Path) -> dict[str, list[View]]:
    """Photos by place; a place with a single photo gets two photos of that photo."""
    by_place: dict[str, list[View]] = {}
    for place in PLACES:
        photos = [
            View(place, path.stem, decode_rgb(path.read_bytes()))
            for path in sorted(real_photos.glob(f"{place}*.jpg"))
        ]
        if len(photos) == 1:
            photos += [View(place, f"{place} again {seed}", again(photos[0].photo, seed)) for seed in (1, 2)]
        by_place[place] = photos
    return by_place


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltinImageSearch]:
    folder = tmp_path_factory.mktemp("photos")
    built = BuiltinImageSearch(EdgeStore(folder), folder / "features")
    built.store.create("sample", built.schema)
    names = sorted(path.stem for path in (SAMPLE / "catalogue").iterdir())
    drawn = [known(name, picture(name)) for name in names]
    assert built.index("sample", drawn) == {}
    yield built
    built.store.close()


def known(entity: str, photo: RGB) -> KnownThing:
    return KnownThing(str(uuid.uuid5(uuid.NAMESPACE_OID, entity)), entity, {}, "", "", photo)


def claimed(engine: BuiltinImageSearch, collection: str, view: View) -> str | None:
    """The entity that the search is sure of, if any."""
    seen = engine.search([view.photo], 5, collection)
    return seen[0].entity if seen and seen[0].probability >= CLAIM else None


def indexed(engine: BuiltinImageSearch, name: str, chosen: Sequence[View]) -> str:
    """A version with all things of the sample and one photo of each of some places."""
    engine.store.create(name, engine.schema, base="sample")
    engine.index(name, [known(view.place, view.photo) for view in chosen])
    return name


def test_other_photos_of_an_indexed_place_find_it(
    engine: BuiltinImageSearch, views: dict[str, list[View]], capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, list[bool]] = {place: [] for place in PLACES}
    wrong = []
    rounds = {place: 1 if place in SINGLE else len(photos) for place, photos in views.items()}
    for turn in range(max(rounds.values())):
        chosen = {place: views[place][turn % rounds[place]] for place in PLACES}
        version = indexed(engine, f"choice-{turn}", list(chosen.values()))
        for view in itertools.chain.from_iterable(views.values()):
            if view is chosen[view.place] or turn >= rounds[view.place]:
                continue
            answer = claimed(engine, version, view)
            answers[view.place].append(answer == view.place)
            if answer not in (None, view.place):
                wrong.append((view.name, answer))
    with capsys.disabled():
        for place, result in answers.items():
            print(f"\n  {place}: found in {sum(result)} of {len(result)} other photos", end="")  # noqa: T201
    assert wrong == []
    real = answers[PLACES[0]] + answers[PLACES[1]]
    everything = list(itertools.chain.from_iterable(answers.values()))
    assert np.mean(everything) >= 0.8
    assert np.mean(real) >= 0.75


@pytest.mark.parametrize("absent", PLACES)
def test_unindexed_place_is_never_matched(
    engine: BuiltinImageSearch, views: dict[str, list[View]], absent: str
) -> None:
    for turn in range(2):
        chosen = [views[place][turn % len(views[place])] for place in PLACES if place != absent]
        version = indexed(engine, f"without-{absent.replace('_', '-')}-{turn}", chosen)
        assert [claimed(engine, version, view) for view in views[absent]] == [None] * len(views[absent])
