"""Ingestion on a real Ray against the default engine: the same points, whatever is killed on the way."""

import gc
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import qdrant_edge as edge
from PIL import Image, ImageDraw
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import ORIGIN, SOURCE
from corpus.ingest import IMAGES, PAGES, IngestOptions, IngestReport, ingest_pages, ingest_photos
from services.image_search.app import create_app as image_search
from services.image_search.settings import ImageSearchSettings
from services.text_search.app import create_app as text_search
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.unit.corpus.test_ingest import lines, page

ray = pytest.importorskip("ray", reason="loreglass[ray] is not installed")

from corpus.cluster import ingest as cluster_ingest  # noqa: E402
from corpus.cluster.ingest import BATCH, ClusterOptions, ingest  # noqa: E402

pytestmark = [
    # Of Ray's own code, and of sockets and files that it leaves to its end.
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
    ),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def stored(folder: Path, alias: str) -> dict[str, tuple[Any, Any]]:
    """Each point's payload and vectors, as the disk has them."""
    store = EdgeStore(folder)
    results: dict[str, tuple[Any, Any]] = {}
    shard: Any = store._version(alias).shard
    offset = None
    while True:
        records, offset = shard.scroll(
            edge.ScrollRequest(offset=offset, limit=256, with_payload=True, with_vector=True)
        )
        for record in records:
            vectors = {
                name: (each.indices, each.values) if hasattr(each, "indices") else list(each)
                for name, each in record.vector.items()
            }
            # the compared manifests differ in name, so leave their source out
            of_content = {key: value for key, value in record.payload.items() if key not in (SOURCE, ORIGIN)}
            results[str(record.id)] = (of_content, vectors)
        if offset is None:
            break
    store.close()
    return results


async def pages_by_default_engine(source: Path, folder: Path) -> tuple[IngestReport, dict[str, Any]]:
    async with live(text_search(TextSearchSettings(port=0, data_dir=folder))) as client:
        report = await ingest_pages(source, str(client.base_url), IngestOptions())
    return report, stored(folder, "pages")


def draw(path: Path, number: int) -> None:
    picture = Image.new("RGB", (320, 240), (200, 190, 160))
    pen = ImageDraw.Draw(picture)
    for step in range(60):
        x, y = (step * 53 + number * 31) % 300, (step * 37 + number * 17) % 220
        pen.rectangle((x, y, x + 9 + step % 13, y + 7 + number % 11), fill=(step * 4, number * 2, x % 255))
    picture.save(path, quality=90)


async def test_cluster_photos_equal_the_default_engines_points(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for letter in "ABCDE":
        draw(photos / f"Mill {letter}.jpg", ord(letter))
    (photos / "Broken Mill.jpg").write_bytes((photos / "Mill A.jpg").read_bytes()[:300])
    (photos / "notes.txt").write_text("no photo")
    reports, points = {}, {}
    for engine in ("local", "ray"):
        folder = tmp_path / engine
        async with live(image_search(ImageSearchSettings(port=0, data_dir=folder))) as client:
            url = str(client.base_url)
            if engine == "local":
                reports[engine] = await ingest_photos(photos, url, IngestOptions())
            else:
                cluster = ClusterOptions(part_records=3)
                reports[engine] = await ingest(IMAGES, photos, url, IngestOptions(), cluster)
        points[engine] = stored(folder, "images")
    assert len(points["local"]) == 5
    assert points["ray"] == points["local"]
    assert set(reports["ray"].rejected) == set(reports["local"].rejected)
    assert {each.where for each in reports["ray"].rejected} == {"Broken Mill.jpg", "notes.txt"}


class Recorder:
    """Middleware that keeps which ids were asked for and which were written, and runs `then` after a path."""

    def __init__(
        self, app: ASGIApp, calls: Counter[str], written: Counter[str], then: dict[str, Callable[[], None]]
    ) -> None:
        self._app, self._calls, self._written, self._then = app, calls, written, then

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").rpartition("/")[2]
        body = bytearray()

        async def heard() -> Message:
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        await self._app(scope, heard, send)
        if path == "missing":
            self._calls.update(json.loads(body)["ids"])
        elif path == "chunks":
            self._written.update(chunk["id"] for chunk in json.loads(body)["chunks"])
        self._then.pop(path, lambda: None)()


def parent(process: int | str) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def actors(stage: str) -> Iterator[int]:
    """Processes of a stage, as Ray names them, that this process has begun."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if (
            name.startswith(b"ray::")
            and stage.encode() in name
            and parent(parent(process.name)) == os.getpid()
        ):
            yield int(process.name)


@pytest.fixture(scope="module", autouse=True)
def ray_address() -> Iterator[str]:
    """Start Ray once for the module, and return its address."""
    with pytest.MonkeyPatch.context() as patch, cluster_ingest._ray("") as started:
        patch.setattr(cluster_ingest, "_ray", lambda address: nullcontext(started))
        yield started.get_runtime_context().gcs_address
    gc.collect()  # Ray's processes, while their warnings are ignored


def odd_pages(count: int) -> list[object]:
    """Pages of which some are HTML, broken, without text or repeated."""
    html = "<html><head><title>Mill | Site</title></head><body><h1>Mill</h1><p>{}</p></body></html>"
    records: list[object] = [page(str(number), f"Mill {number} stands.") for number in range(count)]
    records[60] = {"url": "https://pages.example/html", "html": html.format("It grinds. " * 400)}
    records[70] = "{"
    records[71] = {"url": "https://pages.example/none"}
    records[90] = records[64]
    return records


async def test_a_killed_run_resumes_to_the_same_points(tmp_path: Path, ray_address: str) -> None:
    """The driver is killed when a part is finished, and in the next run an actor that writes."""
    part, count = 50, 800  # more than is written before the first part is finished
    source = lines(tmp_path / "pages.jsonl", odd_pages(count))
    usual, wanted = await pages_by_default_engine(source, tmp_path / "usual")
    calls, written = Counter[str](), Counter[str]()
    then: dict[str, Callable[[], None]] = {}
    app = text_search(TextSearchSettings(port=0, data_dir=tmp_path / "ray"))
    app.add_middleware(Recorder, calls=calls, written=written, then=then)
    async with live(app) as client:
        url = str(client.base_url)
        await killed_driver(source, url, part, ray_address, then)
        finished = (await client.get("/v1/collections")).json()["collections"][0]["finished"]
        before = len(written)
        calls.clear()
        then["chunks"] = lambda: os.kill(next(actors("Writer")), signal.SIGKILL)
        cluster = ClusterOptions(part_records=part)
        report = await ingest(PAGES, source, url, IngestOptions(), cluster)
    assert stored(tmp_path / "ray", "pages") == wanted
    rejected, usually = (
        {each.where: each.reason for each in one.rejected if "already at line" not in each.reason}
        for one in (report, usual)
    )
    done = {int(name.split("-")[1]) for name in finished}
    assert rejected == {
        line: reason for line, reason in usually.items() if (int(line.split()[1]) - 1) // part not in done
    }
    assert {"line 71", "line 72"} == set(usually)
    assert report.indexed + report.unchanged == usual.indexed
    assert not then
    assert 0 < before < len(wanted)
    assert finished
    for name in finished:
        first = part * int(name.split("-")[1])
        urls = {f"https://pages.example/{number}" for number in range(first, first + part)}
        assert not {each for each in calls if wanted[each][0]["url"] in urls}
    assert written.total() - len(written) <= 2 * 2 * BATCH  # of each kill: what two actors had in hand


async def killed_driver(
    source: Path, url: str, part: int, address: str, then: dict[str, Callable[[], None]]
) -> None:
    command = [sys.executable, "-m", "loreglass", "index", "pages", str(source), "--text-search-url", url]
    command += ["--engine", "ray", "--part-records", str(part), "--address", address]
    paths = os.pathsep.join(path for path in sys.path if path)
    async with await anyio.open_process(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=None, stderr=None
    ) as process:
        then["finished"] = process.kill
        assert await process.wait() == -signal.SIGKILL
