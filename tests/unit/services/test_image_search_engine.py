"""The built-in image search with its real store."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chassis.models.cancellation import CURRENT_CALL, Call
from chassis.resilience.deadlines import Deadline
from chassis.vectors.edge import EdgeStore
from services.image_search.engine import KnownThing
from services.image_search.engines import builtin
from services.image_search.engines.builtin import BuiltinImageSearch
from services.image_search.engines.classical.features import DescribeOptions
from tests.unit.services.sample_pictures import KINDS, SIBLINGS, picture, warped

OPTIONS = DescribeOptions(long_side=480, keypoints=1200)
TURNED = ((0.75, 0.25), (0.7, 0.85), (0.25, 0.9), (0.2, 0.15))
UNKNOWN = ("menu-0071", "shop-0014", "plaque-0050", "book-0078", "gadget-0024")


def thing(name: str) -> KnownThing:
    identity = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    url = f"https://things.example/{identity}"
    return KnownThing(identity, name, {"maker": "Holm"}, f"{name}.", url, picture(name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("image_search")


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[BuiltinImageSearch]:
    built = BuiltinImageSearch(EdgeStore(folder), folder / "features", OPTIONS)
    built.store.create("things", built.schema)
    assert built.index("things", [thing(name) for name in KINDS]) == {}
    yield built
    built.store.close()


@pytest.mark.parametrize("name", KINDS)
def test_indexed_object_is_found_with_its_record(engine: BuiltinImageSearch, name: str) -> None:
    known = thing(name)
    best = engine.search([warped(picture(name))], 5, "things")[0]
    assert best.probability > 0.6
    assert (best.id, best.entity, best.title, best.url) == (known.id, known.entity, known.title, known.url)
    assert best.attributes == {"maker": "Holm"}
    assert best.inliers is not None
    assert best.inliers > 20


@pytest.mark.parametrize("name", UNKNOWN)
def test_unindexed_object_is_not_matched(engine: BuiltinImageSearch, name: str) -> None:
    hits = engine.search([warped(picture(name))], 5, "things")
    assert all(each.probability < 0.5 for each in hits)


def test_photos_are_fused_to_one_hit_an_entity(engine: BuiltinImageSearch) -> None:
    first, second = KINDS[0], KINDS[3]
    nothing = np.full((300, 300, 3), 90, np.uint8)
    photos = (warped(picture(first)), warped(picture(second)), warped(picture(first), TURNED))
    hits = engine.search((nothing, *photos), 5, "things")
    claimed = [each for each in hits if each.probability >= 0.5]
    assert sorted(each.entity for each in claimed) == sorted((first, second))
    places = {each.entity: each.photo_index for each in claimed}
    assert places[first] in (1, 3)
    assert places[second] == 2
    assert [each.probability for each in hits] == sorted((each.probability for each in hits), reverse=True)


def test_parallel_search_equals_sequential(
    engine: BuiltinImageSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = [warped(picture(name), *more) for name in KINDS[:3] for more in ((), (TURNED,))]
    results = []
    for at_once in (1, 4):
        monkeypatch.setattr(builtin, "_AT_ONCE", at_once)
        results.append(engine.search(photos, 5, "things"))
    assert len({each.entity for each in results[0]}) >= 3
    assert results[0] == results[1]


def test_photographed_sibling_ranks_first(engine: BuiltinImageSearch) -> None:
    engine.store.create("series", engine.schema)
    engine.index("series", [thing(each) for each in SIBLINGS])
    for own in SIBLINGS:
        hits = engine.search([warped(picture(own))], 5, "series")
        assert hits[0].entity == own


def test_a_featureless_photo_is_rejected_by_itself(engine: BuiltinImageSearch) -> None:
    blank = KnownThing(str(uuid.UUID(int=7)), "fog", {}, "", "", np.full((300, 300, 3), 200, np.uint8))
    engine.store.create("mixed", engine.schema)
    rejected = engine.index("mixed", [blank, thing(KINDS[1])])
    assert list(rejected) == [blank.id]
    assert engine.store.missing("mixed", [blank.id, thing(KINDS[1]).id]) == [blank.id]


def test_a_search_stops_before_the_deadline(engine: BuiltinImageSearch) -> None:
    token = CURRENT_CALL.set(Call(Deadline.after_ms(1)))
    try:
        assert engine.search([warped(picture(KINDS[0]))], 5, "things") == []
    finally:
        CURRENT_CALL.reset(token)


def test_lost_features_leave_the_rest_of_the_index_usable(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    engine = BuiltinImageSearch(store, tmp_path / "features", OPTIONS)
    store.create("kept", engine.schema)
    engine.index("kept", [thing(KINDS[0])])
    for path in (tmp_path / "features").rglob("*.features"):
        path.unlink()
    engine = BuiltinImageSearch(store, tmp_path / "features", OPTIONS)
    engine.index("kept", [thing(KINDS[1])])
    assert engine.search([warped(picture(KINDS[1]))], 5, "kept")[0].entity == KINDS[1]
    store.close()
