"""The OCR engine on pictures with known text."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from services.ocr.engine import Page
from services.ocr.engines.light import brightened
from services.ocr.engines.pocket import PocketOcr
from tests.unit.services.ocr_pictures import RGB, page, squeezed

BOOK = page([(60, 60, "The Salt Harbour"), (60, 200, "a novel by Mirela Dunn"), (60, 320, "312 pages")])
TEXTS = ["thesaltharbour", "anovelbymireladunn", "312pages"]


@pytest.fixture(scope="module")
def engine() -> PocketOcr:
    return PocketOcr(workers=2)


def texts(engine: PocketOcr, picture: RGB) -> list[str]:
    return [squeezed(line.text) for line in engine.read(picture).lines]


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_photo_held_any_way_round_reads_the_same(engine: PocketOcr, turns: int) -> None:
    assert texts(engine, np.ascontiguousarray(np.rot90(BOOK, turns))) == TEXTS


def test_the_first_corner_is_where_the_text_starts(engine: PocketOcr) -> None:
    title = engine.read(np.ascontiguousarray(np.rot90(BOOK, 2))).lines[0]
    (start_x, start_y), (end_x, _), *_ = title.quadrilateral
    assert start_x > end_x
    assert start_y > BOOK.shape[0] / 2


def test_a_dim_noisy_photo_is_still_read(engine: PocketOcr) -> None:
    noise = np.random.default_rng(3).normal(0, 2, BOOK.shape)
    dim = np.clip(BOOK * 0.08 + noise, 0, 255).astype(np.uint8)
    assert texts(engine, dim) == TEXTS


def test_small_print_in_a_part_of_a_large_photo_is_read_whole(engine: PocketOcr) -> None:
    """As of a menu on the other side of the table."""
    dishes = {"leek soup": 12, "pea risotto": 14, "rye bread": 3, "plum cake": 5, "beet salad": 9}
    rows = [(700, 500 + 24 * row, f"{dish} {dishes[dish]}") for row, dish in enumerate(dishes)]
    beside = [(860, top, text) for _, top, text in rows]
    seen = page([*rows, *beside], size=(1920, 1440), height=10)
    lines = engine.read(seen).lines
    assert sorted(squeezed(line.text) for line in lines) == sorted(2 * [squeezed(row[2]) for row in rows])
    starts = sorted((round(line.quadrilateral[0][0], -1), line.quadrilateral[0][1]) for line in lines)
    expected = sorted((left, top) for left, top, _ in (*rows, *beside))
    assert np.abs(np.array(starts) - np.array(expected)).max() < 16


def test_a_bright_photo_is_left_as_it_is() -> None:
    assert brightened(BOOK) is BOOK


def test_a_photo_without_text_has_no_lines(engine: PocketOcr) -> None:
    assert engine.read(np.full((480, 640, 3), 200, dtype=np.uint8)) == Page(())


@pytest.mark.parametrize("size", [(16, 16), (16, 640), (640, 16)])
def test_tiny_and_narrow_pictures_are_no_error(engine: PocketOcr, size: tuple[int, int]) -> None:
    noise = np.random.default_rng(5).integers(0, 255, (*size, 3), dtype=np.uint8)
    engine.read(noise)


def test_two_threads_read_two_photos_at_once(engine: PocketOcr) -> None:
    other = page([(60, 60, "Winter Orchard")])
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda picture: texts(engine, picture), [BOOK, other] * 2))
    assert results == [TEXTS, ["winterorchard"]] * 2


def test_a_real_street_sign_is_read_in_order(engine: PocketOcr, real_photos: Path) -> None:
    with Image.open(real_photos / "french.jpg") as photo:
        lines = texts(engine, np.asarray(photo.convert("RGB")))
    found = [lines.index(text) for text in ("palaisdulouvre", "muséedulouvre", "théâtre", "dupalaisroyal")]
    assert found == sorted(found)
