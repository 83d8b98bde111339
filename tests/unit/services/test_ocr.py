"""OCR: its engine, its weights, and its service."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
import rapidocr
from onnxruntime import InferenceSession
from PIL import Image

from chassis.recent import RecentlyUsed
from chassis.scope import scope_of
from contracts.headers import CACHE_SCOPE
from contracts.ocr import OcrReply
from services.ocr.app import create_app
from services.ocr.engine import Page
from services.ocr.engines.builtin import BuiltinOcr, brighten
from services.ocr.engines.rapid import without_subnormals
from services.ocr.routes import PhotoReader
from services.ocr.settings import OcrSettings
from tests.live import live
from tests.unit.chassis.pictures import encoded
from tests.unit.services.ocr_pictures import RGB, page, squeezed

BOOK = page([(60, 60, "The Salt Harbour"), (60, 200, "a novel by Mirela Dunn"), (60, 320, "312 pages")])
TEXTS = ["thesaltharbour", "anovelbymireladunn", "312pages"]


@pytest.fixture(scope="module")
def engine() -> BuiltinOcr:
    return BuiltinOcr(workers=2)


def texts(engine: BuiltinOcr, picture: RGB) -> list[str]:
    return [squeezed(line.text) for line in engine.read(picture).lines]


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_rotated_photo_reads_the_same(engine: BuiltinOcr, turns: int) -> None:
    lines = engine.read(np.ascontiguousarray(np.rot90(BOOK, turns))).lines
    assert [squeezed(line.text) for line in lines] == TEXTS
    start, end = np.array(lines[0].quadrilateral[:2])  # the text starts at the first corner
    along = (end - start) / np.linalg.norm(end - start)
    assert along == pytest.approx([(1, 0), (0, -1), (-1, 0), (0, 1)][turns], abs=0.1)


def test_a_dim_noisy_photo_is_still_read_beside_another(engine: BuiltinOcr) -> None:
    noise = np.random.default_rng(3).normal(0, 2, BOOK.shape)
    dim = np.clip(BOOK * 0.08 + noise, 0, 255).astype(np.uint8)
    other = page([(60, 60, "Winter Orchard")])
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda picture: texts(engine, picture), [dim, other]))
    assert results == [TEXTS, ["winterorchard"]]
    assert brighten(BOOK) is BOOK


def test_small_print_in_a_large_photo_is_read_completely(engine: BuiltinOcr) -> None:
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


def test_a_photo_without_text_has_no_lines(engine: BuiltinOcr) -> None:
    assert engine.read(np.full((480, 640, 3), 200, dtype=np.uint8)) == Page(())


@pytest.mark.parametrize("size", [(16, 16), (16, 640), (640, 16)])
def test_tiny_and_narrow_pictures_are_read_without_errors(engine: BuiltinOcr, size: tuple[int, int]) -> None:
    noise = np.random.default_rng(5).integers(0, 255, (*size, 3), dtype=np.uint8)
    engine.read(noise)


def test_a_real_street_sign_is_read_in_order(engine: BuiltinOcr, real_photos: Path) -> None:
    with Image.open(real_photos / "french.jpg") as photo:
        lines = texts(engine, np.asarray(photo.convert("RGB")))
    results = [lines.index(text) for text in ("palaisdulouvre", "muséedulouvre", "théâtre", "dupalaisroyal")]
    assert results == sorted(results)


def jpeg(text: str = "The Salt Road") -> bytes:
    return encoded(Image.fromarray(page([(40, 80, text)], (640, 480))), "JPEG")


async def read(client: httpx.AsyncClient, data: bytes) -> httpx.Response:
    return await client.post("/v1/ocr", files={"image": ("photo.jpg", data, "image/jpeg")})


async def test_a_photo_is_read_once_and_text_renamed_to_jpg_is_refused() -> None:
    app = create_app(OcrSettings(port=0))
    async with live(app) as client:
        refused = await read(client, b"just words")
        first = await read(client, jpeg())
        app.state.pool.close()  # whatever needs the engine fails from here on
        again = await read(client, jpeg())
    assert (refused.status_code, refused.json()["type"]) == (415, "urn:loreglass:problem:unsupported_image")
    assert again.json() == first.json()
    reply = OcrReply.model_validate(first.json())
    assert [squeezed(line.text) for line in reply.lines] == ["thesaltroad"]
    assert (reply.width, reply.height) == (640, 480)
    assert len(reply.lines[0].quadrilateral) == 4


async def test_ocr_cache_is_separate_for_each_scope() -> None:
    app, looked_up = create_app(OcrSettings(port=0)), list[bool]()
    app.state.reader = PhotoReader(OcrSettings().max_side, 8, looked_up.append)
    one, other = (scope_of(b"secret", tenant) for tenant in ("acme", "bolt"))
    async with live(app) as client:
        for scope in (one, other, None, "no scope's name", one, other):
            client.headers[CACHE_SCOPE] = scope or ""
            assert (await read(client, jpeg())).status_code == 200
    assert looked_up == [False, False, False, True, True, True]


def test_the_cache_forgets_the_least_recently_used() -> None:
    cache = RecentlyUsed[str, OcrReply](2)
    replies = {name: OcrReply(lines=[], width=1, height=1) for name in "abc"}
    for name in "ab":
        cache.put(name, replies[name])
    assert cache.get("a") is replies["a"]
    cache.put("c", replies["c"])
    assert [cache.get(name) for name in "abc"] == [replies["a"], None, replies["c"]]


FLOAT = 1
WEIGHTS = np.array([1e-40, -1e-40, 0.0, 1.2e-38, -3.5, np.inf], "<f4")


def field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def model_of(data_type: int, raw: bytes) -> bytes:
    """An opset version, a graph with a name and one initializer."""
    tensor = bytes([1 << 3, 6, 2 << 3, data_type]) + field(8, b"w") + field(9, raw)
    graph = field(2, b"graph") + field(5, tensor)
    return bytes([1 << 3, 8]) + field(7, graph)


def test_subnormal_weights_become_zero() -> None:
    expected = np.array([0.0, 0.0, 0.0, 1.2e-38, -3.5, np.inf], "<f4")
    assert without_subnormals(model_of(FLOAT, WEIGHTS.tobytes())) == model_of(FLOAT, expected.tobytes())


def test_detector_output_is_equal_without_subnormals() -> None:
    model = (Path(rapidocr.__file__).parent / "models" / "PP-OCRv6_det_small.onnx").read_bytes()
    lighter = without_subnormals(model)
    assert lighter != model  # else the package has changed, and this is no longer needed
    picture = page([(40, 40, "The Salt Harbour")], size=(320, 160))
    pixels = (picture.transpose(2, 0, 1)[None] / 127.5 - 1).astype(np.float32)
    results, as_before = (
        InferenceSession(each, providers=["CPUExecutionProvider"]).run(None, {"x": pixels})[0]
        for each in (lighter, model)
    )
    assert results.max() > 0.5
    assert np.array_equal(results, as_before)
