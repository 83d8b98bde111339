"""Dense image search, and the views of a photo that a model sees."""

import uuid
from collections.abc import Iterator
from pathlib import Path

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


def test_the_same_photo_is_found_first_with_what_is_known_of_it(engine: DenseImageSearch) -> None:
    assert engine.index("images-1", [known("The Salt Road", BOOK), known("Fair", POSTER)]) == {}
    first, second = engine.search([POSTER], 5, "images-1")
    assert (first.entity, first.title, first.attributes) == ("Fair", "Fair (0)", {"author": "Mira Holm"})
    assert (first.photo_index, first.inliers) == (0, None)
    assert first.probability > 0.9 > second.probability


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


def test_a_thing_at_the_end_of_a_tall_photo_is_found(store: VectorStore) -> None:
    engine = DenseImageSearch(store, ColourEncoder())
    store.create("images-1", engine.schema)
    side = POSTER.shape[1]
    square = POSTER[:side]
    engine.index("images-1", [known("Fair", square)])
    tall = np.concatenate([np.full((side * 2, side, 3), 90, np.uint8), square])
    (seen,) = engine.search([tall], 1, "images-1")
    centre_only = DenseImageSearch(store, ColourEncoder(ends_above=9))
    (unseen,) = centre_only.search([tall], 1, "images-1")
    assert seen.probability > 0.9 > 0.5 > unseen.probability


def test_all_views_of_all_photos_go_through_the_model_at_once(store: VectorStore) -> None:
    encoder = ColourEncoder()
    engine = DenseImageSearch(store, encoder)
    store.create("images-1", engine.schema)
    engine.search([BOOK[:100], BOOK[:, :100], BOOK[:100, :100]], 5, "images-1")
    assert encoder.passes == [7]


def test_a_hit_says_in_which_photo_it_is_seen_best(engine: DenseImageSearch) -> None:
    engine.index("images-1", [known("Fair", POSTER)])
    (seen,) = engine.search([noisy(BOOK, 1), noisy(POSTER, 1), POSTER], 5, "images-1")
    assert seen.photo_index == 2


def test_many_photos_of_one_thing_are_one_hit_and_hide_no_other(engine: DenseImageSearch) -> None:
    photos = [known("Fair", noisy(POSTER, number), number) for number in range(40)]
    engine.index("images-1", [*photos, known("The Salt Road", BOOK)])
    seen = engine.search([POSTER], 2, "images-1")
    assert [each.entity for each in seen] == ["Fair", "The Salt Road"]


def test_a_search_without_time_ends_with_what_it_has(engine: DenseImageSearch, times: list[bool]) -> None:
    engine.index("images-1", [known("Fair", POSTER), known("The Salt Road", BOOK)])
    times += [True, False]
    seen = engine.search([POSTER, BOOK], 1, "images-1")
    assert [(each.entity, each.photo_index) for each in seen] == [("Fair", 0)]
    times.append(False)
    assert engine.search([POSTER], 1, "images-1") == []


def test_embeddings_are_of_the_centre(engine: DenseImageSearch) -> None:
    tall = np.concatenate([BOOK[:150, :150], POSTER[:150, :150], BOOK[:150, :150]])
    vectors = engine.embed([tall, POSTER[:150, :150]])
    assert vectors.shape == (2, SIZE)
    assert vectors[0] @ vectors[1] == pytest.approx(1, abs=1e-3)
    assert engine.embed([]).shape == (0, SIZE)


def test_a_collection_of_another_model_is_refused_not_searched(
    store: VectorStore, engine: DenseImageSearch, tmp_path: Path
) -> None:
    other = DenseImageSearch(store, ColourEncoder("a model of the same size"))
    pocket = BuiltinImageSearch(store, tmp_path / "features")
    for stranger in (other, pocket):
        with pytest.raises(CollectionConflict):
            stranger.search([POSTER], 5, "images-1")
        with pytest.raises(CollectionConflict):
            stranger.index("images-1", [known("Fair", POSTER)])


FRAME = Frame(32, 32)
SIDES = st.integers(16, 400)


def photo(height: int, width: int) -> RGB:
    return np.random.default_rng(height * 1000 + width).integers(0, 255, (height, width, 3), np.uint8)


def striped(height: int, width: int) -> RGB:
    """Red at the start of its longer side, green in the middle, blue at the end."""
    bands = np.zeros((90, 30, 3), np.uint8)
    for band in range(3):
        bands[band * 30 : band * 30 + 30, :, band] = 255
    tall = np.repeat(np.repeat(bands, max(height, width) // 90, 0), min(height, width) // 30, 1)
    return tall if height > width else np.ascontiguousarray(tall.transpose(1, 0, 2))


@pytest.mark.parametrize(("height", "width"), [(270, 90), (90, 270)])
def test_a_long_photo_is_seen_at_its_centre_and_at_both_ends(height: int, width: int) -> None:
    views = framed_views(striped(height, width), FRAME)
    assert [int(view.mean((0, 1)).argmax()) for view in views] == [1, 0, 2]


@pytest.mark.parametrize(("height", "width"), [(100, 100), (125, 100), (100, 120)])
def test_a_photo_that_nearly_fits_is_seen_once(height: int, width: int) -> None:
    assert len(framed_views(photo(height, width), FRAME)) == 1
    assert len(square_views(photo(height, width), 300)) == 1


@given(height=SIDES, width=SIDES, fit=st.sampled_from(Fit))
def test_every_view_fills_the_frame(height: int, width: int, fit: Fit) -> None:
    for frame in (Frame(32, 32, fit), Frame(24, 40, fit)):
        assert {view.shape for view in framed_views(photo(height, width), frame)} == {
            (frame.height, frame.width, 3)
        }


@given(height=SIDES, width=SIDES)
def test_squares_are_no_larger_than_is_sent(height: int, width: int) -> None:
    side = min(height, width, 64)
    assert {view.shape for view in square_views(photo(height, width), 64)} == {(side, side, 3)}


def test_squares_hold_the_photo_s_own_pixels() -> None:
    picture = photo(90, 40)
    centre, top, bottom = square_views(picture, 64)
    assert np.array_equal(centre, picture[25:65])
    assert np.array_equal(top, picture[:40])
    assert np.array_equal(bottom, picture[50:])


def test_a_frame_that_takes_the_whole_photo_needs_no_ends() -> None:
    (view,) = framed_views(striped(270, 90), Frame(32, 32, Fit.SQUASH))
    assert [int(view[row, 16].argmax()) for row in (2, 16, 29)] == [0, 1, 2]


def test_every_photo_s_centre_comes_before_any_photo_s_ends() -> None:
    views = [framed_views(striped(270, 90), FRAME), framed_views(photo(50, 50), FRAME)]
    placed = centres_first(views)
    assert [index for index, _ in placed] == [0, 1, 0, 0]
    assert placed[0][1] is views[0][0]
    assert placed[1][1] is views[1][0]
