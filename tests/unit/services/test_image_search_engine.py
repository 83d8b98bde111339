"""The pocket engine with its real store: indexing, finding, refusing."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chassis.errors import CollectionNotFound
from chassis.vectors.edge import EdgeStore
from services.image_search.classical.features import RGB, DescribeOptions
from services.image_search.engine import KnownThing, ThingSeen
from services.image_search.engines.pocket import PocketImageSearch, PocketOptions, SearchEffort
from services.image_search.training.camera import Shot, photograph
from services.image_search.training.designs import Design, Kind, draw

OPTIONS = PocketOptions(describe=DescribeOptions(long_side=480, keypoints=1200))
CALM = Shot(tilt=0.08, size=(0.6, 0.8), low_light=0.0, blurred=0.0, occluded=0.0, turned=0.0)
DESIGNS = [Design(kind, 100 + number, 0) for number, kind in enumerate([*Kind, *Kind])]


def thing(design: Design, entity: str | None = None) -> KnownThing:
    name = entity or f"{design.kind.value} {design.layout}"
    identity = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{design} {name}"))
    return KnownThing(
        identity, name, {"maker": "Holm"}, f"{name}.", f"https://things.example/{identity}", draw(design, 400)
    )


def photo_of(design: Design, seed: int = 1) -> RGB:
    return photograph(np.random.default_rng(seed), draw(design, 400), CALM, 640)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("image_search")


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[PocketImageSearch]:
    built = PocketImageSearch(EdgeStore(folder), folder / "features", OPTIONS)
    built.store.create("things", built.schema)
    assert built.index("things", [thing(design) for design in DESIGNS]) == {}
    yield built
    built.store.close()


def search(engine: PocketImageSearch, *photos: RGB, collection: str = "things") -> list[ThingSeen]:
    return engine.search(photos, 5, collection, lambda: True)


@pytest.mark.parametrize("design", DESIGNS[:6], ids=lambda design: str(design.kind))
def test_an_indexed_thing_is_found_with_all_that_is_known(engine: PocketImageSearch, design: Design) -> None:
    known = thing(design)
    best = search(engine, photo_of(design))[0]
    assert best.probability > 0.6
    assert (best.id, best.entity, best.title, best.url) == (known.id, known.entity, known.title, known.url)
    assert best.attributes == {"maker": "Holm"}
    assert best.inliers is not None
    assert best.inliers > 20


@pytest.mark.parametrize("kind", list(Kind))
def test_a_thing_that_is_not_indexed_is_not_claimed(engine: PocketImageSearch, kind: Kind) -> None:
    seen = search(engine, photo_of(Design(kind, 900, 0)))
    assert all(each.probability < 0.5 for each in seen)


def test_photos_are_fused_to_one_hit_an_entity(engine: PocketImageSearch) -> None:
    first, second = DESIGNS[0], DESIGNS[3]
    nothing = np.full((300, 300, 3), 90, np.uint8)
    seen = search(engine, nothing, photo_of(first), photo_of(second), photo_of(first, 2))
    claimed = [each for each in seen if each.probability >= 0.5]
    assert sorted(each.entity for each in claimed) == sorted(thing(each).entity for each in (first, second))
    places = {each.entity: each.photo_index for each in claimed}
    assert places[thing(first).entity] in (1, 3)
    assert places[thing(second).entity] == 2
    assert [each.probability for each in seen] == sorted((each.probability for each in seen), reverse=True)


def test_photos_searched_side_by_side_show_what_they_show_one_by_one(
    engine: PocketImageSearch, folder: Path
) -> None:
    photos = [photo_of(design, seed) for design in DESIGNS[:3] for seed in (1, 2)]
    found = []
    for at_once in (1, 4):
        options = PocketOptions(OPTIONS.describe, SearchEffort(at_once=at_once))
        found.append(search(PocketImageSearch(engine.store, folder / "features", options), *photos))
    assert len({each.entity for each in found[0]}) >= 3
    assert found[0] == found[1]


def test_of_two_siblings_the_seen_one_comes_first(engine: PocketImageSearch) -> None:
    siblings = [Design(Kind.COVER, 500, content) for content in (0, 1)]
    engine.store.create("series", engine.schema)
    engine.index("series", [thing(each, f"volume {each.content}") for each in siblings])
    for own in siblings:
        seen = search(engine, photo_of(own), collection="series")
        assert seen[0].entity == f"volume {own.content}"


def test_a_featureless_photo_is_rejected_by_itself(engine: PocketImageSearch) -> None:
    blank = KnownThing(str(uuid.UUID(int=7)), "fog", {}, "", "", np.full((300, 300, 3), 200, np.uint8))
    engine.store.create("mixed", engine.schema)
    rejected = engine.index("mixed", [blank, thing(DESIGNS[1])])
    assert list(rejected) == [blank.id]
    assert engine.store.missing("mixed", [blank.id, thing(DESIGNS[1]).id]) == [blank.id]


def test_a_search_stops_when_it_is_no_longer_wanted(engine: PocketImageSearch) -> None:
    assert engine.search([photo_of(DESIGNS[0])], 5, "things", lambda: False) == []


def test_an_unknown_collection_is_named(engine: PocketImageSearch) -> None:
    with pytest.raises(CollectionNotFound):
        search(engine, photo_of(DESIGNS[0]), collection="none")


def test_an_index_survives_a_restart(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    first = PocketImageSearch(store, tmp_path / "features", OPTIONS)
    store.create("kept", first.schema)
    first.index("kept", [thing(DESIGNS[0])])
    store.close()
    store = EdgeStore(tmp_path)
    again = PocketImageSearch(store, tmp_path / "features", OPTIONS)
    assert search(again, photo_of(DESIGNS[0]), collection="kept")[0].entity == thing(DESIGNS[0]).entity
    store.close()


def test_lost_features_leave_the_rest_of_the_index_usable(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    engine = PocketImageSearch(store, tmp_path / "features", OPTIONS)
    store.create("kept", engine.schema)
    engine.index("kept", [thing(DESIGNS[0])])
    for path in (tmp_path / "features").rglob("*.features"):
        path.unlink()
    engine = PocketImageSearch(store, tmp_path / "features", OPTIONS)
    engine.index("kept", [thing(DESIGNS[1])])
    assert search(engine, photo_of(DESIGNS[1]), collection="kept")[0].entity == thing(DESIGNS[1]).entity
    store.close()


def test_vectors_of_photos_have_length_one(engine: PocketImageSearch) -> None:
    vectors = engine.embed([photo_of(DESIGNS[0]), photo_of(DESIGNS[1])])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-4)
    assert engine.embed([]).shape == (0, vectors.shape[1])
