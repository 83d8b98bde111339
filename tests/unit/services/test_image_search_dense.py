"""Dense image search, and the views of a photo that a model sees."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.errors import CollectionConflict, CollectionNotFound
from chassis.rgb import RGB
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import VectorStore
from services.image_search.engine import KnownThing
from services.image_search.engines import dense
from services.image_search.engines.builtin import BuiltinImageSearch
from services.image_search.engines.dense import DenseImageSearch
from services.image_search.engines.views import Fit, Frame, centres_first, framed_views, square_views
from tests.unit.services.image_encoders import PAINTS, SIZE, ColourEncoder, painted
from tests.unit.services.sample_pictures import picture

BOOK = picture("book-0088", 240)
POSTER = picture("game-0070", 240)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    opened = EdgeStore(tmp_path / "vectors")
    yield opened
    opened.close()


@pytest.fixture
def engine(store: VectorStore) -> DenseImageSearch:
    made = DenseImageSearch(store, ColourEncoder())
    store.create("images-1", made.schema)
    return made


def known(entity: str, photo: RGB, number: int = 0) -> KnownThing:
    identity = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{entity} {number}"))
    return KnownThing(identity, entity, {"author": "Mira Holm"}, f"{entity} ({number})", "", photo)


def noisy(photo: RGB, number: int) -> RGB:
    noise = np.random.default_rng(number).integers(-20, 20, photo.shape)
    return np.clip(photo.astype(int) + noise, 0, 255).astype(np.uint8)


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What `has_time` returns, one after the other; True where nothing is left."""
    answers: list[bool] = []
    monkeypatch.setattr(dense, "has_time", lambda _: answers.pop(0) if answers else True)
    return answers


def test_the_same_photo_is_found_first_with_its_attributes(
    engine: DenseImageSearch, times: list[bool]
) -> None:
    assert engine.index("images-1", [known("The Salt Road", BOOK), known("Fair", POSTER)]) == {}
    first, second = engine.search([POSTER], 5, "images-1")
    assert (first.entity, first.title, first.attributes) == ("Fair", "Fair (0)", {"author": "Mira Holm"})
    assert (first.photo_index, first.inliers) == (0, None)
    assert first.probability > 0.9 > second.probability
    times += [True, False]  # the search runs out of time and returns its hits so far
    hits = engine.search([POSTER, BOOK], 1, "images-1")
    assert [(each.entity, each.photo_index) for each in hits] == [("Fair", 0)]
    times.append(False)
    assert engine.search([POSTER], 1, "images-1") == []


def test_text_search_stops_when_cancelled(store: VectorStore, times: list[bool]) -> None:
    encoder = ColourEncoder()
    engine = DenseImageSearch(store, encoder, forward_texts=encoder.forward_texts)
    store.create("images-1", engine.schema)
    engine.index("images-1", [known(paint, painted(paint)) for paint in PAINTS])
    result = engine.search_texts(["a blue door", "red"], 2, "images-1")
    assert [(seen.entity, seen.photo_index) for seen in result] == [("blue", 0), ("red", 1)]
    times += [True, False]
    (only,) = engine.search_texts(["a blue door", "red"], 1, "images-1")
    assert only.entity == "blue"
    times.append(False)
    assert engine.search_texts(["red"], 2, "images-1") == []
    with pytest.raises(CollectionNotFound):
        engine.search_texts(["red"], 2, "images-2")


def test_object_at_the_end_of_a_tall_photo_is_found(
    store: VectorStore,
) -> None:
    encoder = ColourEncoder()
    engine = DenseImageSearch(store, encoder)
    store.create("images-1", engine.schema)
    side = POSTER.shape[1]
    square = POSTER[:side]
    engine.index("images-1", [known("Fair", square)])
    tall = np.concatenate([np.full((side * 2, side, 3), 90, np.uint8), square])
    (seen,) = engine.search([tall], 1, "images-1")
    centre_only = DenseImageSearch(store, ColourEncoder(ends_above=9))
    (unseen,) = centre_only.search([tall], 1, "images-1")
    assert seen.probability > 0.9 > 0.5 > unseen.probability
    centre, same = engine.embed([tall, tall[side : side * 2]])
    assert centre @ same == pytest.approx(1, abs=1e-3)
    assert engine.embed([]).shape == (0, SIZE)
    assert encoder.passes == [1, 3, 2]  # one pass for all views of all photos


def test_many_photos_of_one_entity_are_one_hit(engine: DenseImageSearch) -> None:
    photos = [known("Fair", noisy(POSTER, number), number) for number in range(40)]
    engine.index("images-1", [*photos, known("The Salt Road", BOOK)])
    hits = engine.search([noisy(POSTER, 41), photos[0].photo], 2, "images-1")
    assert [(each.entity, each.photo_index) for each in hits] == [("Fair", 1), ("The Salt Road", ANY)]


def test_a_collection_of_another_model_is_refused_not_searched(
    store: VectorStore, engine: DenseImageSearch, tmp_path: Path
) -> None:
    other = DenseImageSearch(store, ColourEncoder("a model of the same size"))
    pocket = BuiltinImageSearch(store, tmp_path / "features")
    for other_engine in (other, pocket):
        with pytest.raises(CollectionConflict):
            other_engine.search([POSTER], 5, "images-1")
        with pytest.raises(CollectionConflict):
            other_engine.index("images-1", [known("Fair", POSTER)])


FRAME = Frame(32, 32)
SIDES = st.integers(16, 400)


def photo(height: int, width: int) -> RGB:
    return np.random.default_rng(height * 1000 + width).integers(0, 255, (height, width, 3), np.uint8)


@pytest.mark.parametrize("size", [(100, 100), (125, 100), (100, 120)])
def test_nearly_square_photo_has_one_view(size: tuple[int, int]) -> None:
    assert len(framed_views(photo(*size), FRAME)) == len(square_views(photo(*size), 300)) == 1
    assert len(framed_views(photo(90, 270), Frame(32, 32, Fit.SQUASH))) == 1


@given(height=SIDES, width=SIDES, fit=st.sampled_from(Fit))
def test_every_view_fills_the_frame(height: int, width: int, fit: Fit) -> None:
    for frame in (Frame(32, 32, fit), Frame(24, 40, fit)):
        views = framed_views(photo(height, width), frame)
        assert {view.shape for view in views} == {(frame.height, frame.width, 3)}
    side = min(height, width, 64)
    assert {view.shape for view in square_views(photo(height, width), 64)} == {(side, side, 3)}


@pytest.mark.parametrize("turned", [False, True])
def test_square_views_contain_unchanged_pixels(turned: bool) -> None:
    tall = photo(90, 40)
    image = tall.transpose(1, 0, 2) if turned else tall
    for views in (square_views(image, 64), framed_views(image, Frame(40, 40))):
        straight = [view.transpose(1, 0, 2) if turned else view for view in views]
        expected = [tall[25:65], tall[:40], tall[50:]]
        assert [np.array_equal(*pair) for pair in zip(straight, expected, strict=True)] == [True] * 3


def test_centre_views_come_before_end_views() -> None:
    views = [framed_views(photo(270, 90), FRAME), framed_views(photo(50, 50), FRAME)]
    placed = centres_first(views)
    assert [index for index, _ in placed] == [0, 1, 0, 0]
    assert placed[0][1] is views[0][0]
    assert placed[1][1] is views[1][0]
