"""OCR of dense pages, and the order of lines."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from chassis.errors import DeadlineExceeded
from chassis.models.workers import EnginePool, PoolSize
from chassis.resilience.deadlines import Deadline
from chassis.rgb import RGB
from services.ocr.engine import OcrEngine, Page, Progress, RecognizedLine
from services.ocr.engines import builtin
from services.ocr.engines.builtin import BuiltinOcr
from services.ocr.engines.layout import batches, most_useful, reading_order
from services.ocr.engines.rapid import Crop, RapidModels
from services.ocr.routes import PhotoReader
from tests.unit.chassis.pictures import encoded
from tests.unit.services.ocr_pictures import page, squeezed

PIECES = 4
LINE = RecognizedLine("The Salt Road", 0.9, ((0, 0), (9, 0), (9, 4), (0, 4)))


Points = NDArray[np.float64]


def box(left: float, top: float, width: float = 200, height: float = 30) -> Points:
    right, bottom = left + width, top + height
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], dtype=np.float64)


def test_small_and_outer_lines_are_left_out_and_a_title_is_read() -> None:
    title, middle, corner = box(0, 0, 200, 40), box(450, 490, 100, 20), box(0, 980, 100, 20)
    chosen, left_out = most_useful([title, corner, middle], (1000, 1000), 2, 64_000)
    assert left_out == 1
    assert [each.tolist() for each in chosen] == [title.tolist(), middle.tolist()]
    # Scaled to the recogniser's height, each line is 4,560 pixels wide.
    wide = [box(0, 20 * row, 1900, 20) for row in range(50)]
    chosen, left_out = most_useful(wide, (1000, 1900), 200, 64_000)
    assert (len(chosen), left_out) == (14, 36)
    above = [box(0, 0, 900, 60), *(box(0, 100 + 30 * row, 900, 20) for row in range(40))]
    chosen, _ = most_useful(above, (1400, 900), 5, 64_000)
    assert chosen[0].tolist() == above[0].tolist()


@pytest.mark.parametrize("height", [10, 17, 20, 26, 33])
def test_one_block_of_a_uniform_page_is_read(height: int) -> None:
    heights = height * np.random.default_rng(5).uniform(0.85, 1.15, 80)
    step = 1.5 * height
    lines = [
        box((18 + place // 40 * 36) * height - 15 * each, place % 40 * step, 30 * each, each)
        for place, each in enumerate(heights)
    ]
    chosen, left_out = most_useful(lines, (int(40 * step), 72 * height), 200, 64_000)
    assert (len(chosen), left_out) == (44, 36)
    for right in (False, True):
        rows = [round(each[0, 1] / step) for each in chosen if (each[0, 0] > 36 * height) == right]
        assert rows == list(range(rows[0], rows[0] + len(rows)))
        assert rows[0] < 20 < rows[-1]


def test_batch_size_is_bounded() -> None:
    sizes = [(10, width) for width in range(20, 2000, 20)]
    results = list(batches(sizes))
    assert sorted(place for batch in results for place in batch) == list(range(len(sizes)))
    assert all(
        len(batch) * max(320, 48 * max(sizes[place][1] for place in batch) / 10) <= 9_600 for batch in results
    )


def test_dense_page_reports_the_number_of_skipped_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "_MOST_LINES", 2)
    rows = [
        (40, 20 + 40 * row, f"{word} soup") for row, word in enumerate(["leek", "pea", "beet", "rye", "plum"])
    ]
    seen = page(rows, (480, 260), height=24)
    read = BuiltinOcr().read(seen)
    assert (len(read.lines), read.left_out) == (2, 3)
    assert "beetsoup" in [squeezed(line.text) for line in read.lines]  # in the middle


def test_recognised_lines_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    recognize: Callable[[RapidModels, Sequence[Crop]], Any] = RapidModels.recognize

    def counted(models: RapidModels, crops: Sequence[Crop]) -> Any:
        if len(calls) == 1:
            calls.append(0)
            raise DeadlineExceeded  # as when the caller leaves after the first batch
        calls.append(len(crops))
        return recognize(models, crops)

    monkeypatch.setattr(RapidModels, "recognize", counted)
    seen = page([(40, 20 + 60 * row, f"row {row} of 8") for row in range(8)], (640, 520))
    engine, progress = BuiltinOcr(), Progress()
    with pytest.raises(DeadlineExceeded):
        engine.read(seen, progress)
    read = engine.read(seen, progress)
    assert len(read.lines) == 8
    assert calls == [6, 0, 2]


class SteppedEngine:
    """Each piece of a page waits until the test lets it go."""

    name = "stepped"

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.pieces = 0

    def read(self, image: RGB, progress: Progress | None = None) -> Page:
        """As an engine that looks up between pieces."""
        for place in range(PIECES):
            (progress or Progress()).piece(place, self._work)
        return Page((LINE,), left_out=7)

    def _work(self) -> None:
        self.entered.release()
        self.go.acquire(timeout=30)
        self.pieces += 1


@pytest.fixture
def stepped() -> Iterator[SteppedEngine]:
    made = SteppedEngine()
    yield made
    made.go.release(100)


async def entered(engine: SteppedEngine) -> None:
    await anyio.to_thread.run_sync(engine.entered.acquire, abandon_on_cancel=True)


async def idle(pool: EnginePool[OcrEngine]) -> None:
    with anyio.fail_after(20):
        while pool.waiting or pool.running:
            await anyio.lowlevel.checkpoint()


PHOTO = encoded(Image.new("RGB", (64, 64), (200, 200, 200)), "PNG")


async def test_cancelled_work_is_resumed(stepped: SteppedEngine) -> None:
    pool = EnginePool[OcrEngine](stepped, PoolSize(1, 4))
    reader = PhotoReader(1920, 8, lambda _: None)
    async with anyio.create_task_group() as group:
        group.start_soon(reader.read, PHOTO, pool, Deadline.after_ms(60_000))
        await entered(stepped)
        group.cancel_scope.cancel()
    stepped.go.release()
    await idle(pool)
    assert stepped.pieces == 1
    stepped.go.release(PIECES)
    reply = await reader.read(PHOTO, pool, Deadline.after_ms(60_000))
    assert (stepped.pieces, reply.lines_left_out) == (PIECES, 7)
    assert await reader.read(PHOTO, pool, Deadline.after_ms(60_000)) == reply
    assert stepped.pieces == PIECES
    pool.close()


def turned(corners: Points, degrees: float) -> Points:
    angle = np.radians(degrees)
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(corners @ rotation)


TITLE, LEFT_1, LEFT_2 = box(0, 0, 600, 60), box(0, 100), box(0, 140)
RIGHT_1, RIGHT_2 = box(400, 100), box(400, 140)


@pytest.mark.parametrize(
    ("lines", "texts", "order"),
    [
        ([RIGHT_2, LEFT_1, TITLE, RIGHT_1, LEFT_2], "and then|once|Title|there|upon", [2, 1, 4, 3, 0]),
        ([RIGHT_2, LEFT_1, RIGHT_1, LEFT_2], "8.20|Soup|5.80|Tart", [1, 2, 3, 0]),
        ([box(220, 0, 90), box(0, 4, 90), box(110, 8, 90)], "c|a|b", [1, 2, 0]),
    ],
    ids=["columns one after the other", "prices beside their dishes", "uneven words"],
)
@pytest.mark.parametrize("quarter_turns", [0, 1, 2, 3])
@pytest.mark.parametrize("tilt", [-12.0, 0.0, 9.0])
def test_a_turned_and_tilted_photo_reads_in_the_same_order(
    lines: list[Points], texts: str, order: list[int], quarter_turns: int, tilt: float
) -> None:
    rotated = [turned(corners, 90 * quarter_turns + tilt) for corners in lines]
    assert reading_order(rotated, texts.split("|"), quarter_turns) == order


@given(
    st.lists(st.tuples(st.floats(0, 900), st.floats(0, 900), st.floats(5, 300)), min_size=1, max_size=25),
    st.integers(0, 3),
)
def test_every_line_is_read_exactly_once(places: list[tuple[float, float, float]], turns: int) -> None:
    lines = [box(left, top, width, 20) for left, top, width in places]
    assert sorted(reading_order(lines, ["x"] * len(lines), turns)) == list(range(len(lines)))


def test_prices_stay_on_their_rows_in_perspective() -> None:
    """Lines fan out: each further down slopes more, and the prices are far to the right."""
    dishes = [box(0, 60 * row, 300, 34) for row in range(6)]
    prices = [box(700, 60 * row, 60, 34) for row in range(6)]

    def seen(corners: Points) -> Points:
        x, y = corners[:, 0], corners[:, 1]
        return np.column_stack([x, y + x * (y - 60) * 0.0005])

    order = reading_order([seen(c) for c in (*dishes, *prices)], ["dish"] * 6 + ["4.50"] * 6, 0)
    assert order == [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]
