"""Questions that make every panel tell something: steady ones, too many at once, short deadlines, callers who
leave, a service that fails, an ingestion.

python -m tests.deploy.monitored_load --seconds 200 --out docs/dashboards    # the committed pictures
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio

from bench.arrivals import poisson
from bench.fleet import Mode
from bench.generator import Body, Generator, Load, generator
from bench.on_fleet import asked, mixed
from bench.photo import multipart, photo
from contracts.answer import Route
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.grafana.__main__ import main as grafana
from deploy.sample import SAMPLE
from evaluation.data.world import load_world
from loreglass_client import AsyncLoreglass
from tests.deploy.monitoring import Watched, hold_memory, watched
from tests.journey.deployments import SeparateProcesses

_ASKED = 6  # of the sample: some more than once, as wearers do
_LEFT_AFTER_S = 0.8
_TOO_SHORT_MS = 60
_LOAD_STARTS_S = 4
_IN_PEACE_MS = 60_000
_CROWD, _IN_A_CROWD_MS = 40, 2_500


@dataclass(frozen=True, slots=True)
class Story:
    """Rates a second (`hurried`: with short deadlines); times as shares of `seconds`.

    The fleet is asked at `steady`, and at `rush` beside that from .55 to .75; its OCR fails from .2 to .3 and
    its reranker is slow from .35 to .45. The pocket platform is asked at `pocket`, from .8 on indexes anew.
    """

    seconds: float
    steady: float = 0.9
    rush: float = 3.5
    hurried: float = 0.1
    pocket: float = 0.3


async def tell(story: Story, platforms: Watched, world: Path) -> None:
    """All of it, at once; returns when the last reply is there."""
    with generator(most=3) as load:
        async with asyncio.TaskGroup() as group:
            for each in _loads(story, platforms, world):
                group.create_task(load.fire(each))
            group.create_task(_leavers(load, story, platforms))
            group.create_task(_faults(story, platforms))
            group.create_task(_index_anew(story, platforms, world))


def _loads(story: Story, platforms: Watched, world: Path) -> list[Load]:
    seconds, questions = story.seconds, _questions(world)
    bodies, due = _of_fleet(story)
    asked_at = tuple(poisson(story.pocket, 0.97 * seconds, seed=6))
    chosen = random.Random(5).choices(range(len(questions)), k=len(asked_at) + 1)
    pocket = f"{platforms.pocket.gateway_url}/answer"
    return [
        Load(platforms.l40s.url, bodies, tuple(body for _, body in due), tuple(at for at, _ in due)),
        Load(pocket, questions, tuple(chosen), asked_at),
    ]


def _of_fleet(story: Story) -> tuple[tuple[Body, ...], list[tuple[float, int]]]:
    """What is sent, and when which of it; one process sends all of it."""
    seconds = story.seconds
    usual, order = mixed(2 + int(seconds * (story.steady + story.rush) * 2), seed=1)
    hurried = (
        asked(Route.RAG, "qa-dragon"),
        *(asked(route, deadline_ms=most) for route in Route for most in (2_500, 4_000)),
        asked(Route.RAG, deadline_ms=_TOO_SHORT_MS),
    )
    rush = [0.55 * seconds + at for at in poisson(story.rush, 0.2 * seconds, seed=2)]
    due = list(zip([*poisson(story.steady, seconds, seed=3), *rush], order, strict=False))
    for place, at in enumerate(poisson(story.hurried, seconds, seed=4)):
        due.append((at, len(usual) + place % len(hurried)))
    return (*usual, *hurried), sorted(due)


def _questions(world: Path) -> tuple[Body, ...]:
    """Of the small world, each with its photo, and one that nothing is known of."""
    told = [
        multipart({"question": each.turns[0].question}, Path(each.photo).read_bytes())
        for each in load_world(world).single[:_ASKED]
    ]
    return (*told, multipart({"question": "Who painted the ceiling above this?"}, photo(640, 480)))


async def ask_again(platforms: Watched, world: Path) -> None:
    """One question twice, one after the other, in peace: what is kept of the first is found by the second."""
    conversation = load_world(world).single[0]
    photo_read = await anyio.Path(conversation.photo).read_bytes()
    async with AsyncLoreglass(platforms.pocket.gateway_url) as client:
        for _ in range(2):
            await client.ask(conversation.turns[0].question, photo_read, deadline_ms=_IN_PEACE_MS)


async def crowd(platforms: Watched) -> None:
    """More at once than are let in, while the model hangs: who waits in vain hears that it is too busy."""
    fleet = platforms.l40s.fleet
    await asyncio.to_thread(fleet.switch, "vlm", Mode.HANG)
    with generator(most=1) as load:
        body = asked(Route.RAG, deadline_ms=_IN_A_CROWD_MS)
        await load.fire(Load(platforms.l40s.url, (body,), offsets=(0.0,) * _CROWD))
    await asyncio.to_thread(fleet.switch, "vlm", Mode.NORMAL)


async def _leavers(load: Generator, story: Story, platforms: Watched) -> None:
    offsets = tuple(poisson(story.steady / 8, story.seconds, seed=7)) or (0.5 * story.seconds,)
    await load.fire(Load(platforms.l40s.url, (asked(Route.RAG),), offsets=offsets, give_up_s=_LEFT_AFTER_S))


async def _faults(story: Story, platforms: Watched) -> None:
    """One after the other, on the fleet."""
    fleet = platforms.l40s.fleet
    await asyncio.sleep(0.2 * story.seconds)
    await asyncio.to_thread(fleet.switch, "ocr", Mode.FAIL)
    await asyncio.sleep(0.1 * story.seconds)
    await asyncio.to_thread(fleet.switch, "ocr", Mode.NORMAL)
    await asyncio.sleep(0.05 * story.seconds)
    await asyncio.to_thread(fleet.switch, "reranker", Mode.SLOW, factor=8)
    await asyncio.sleep(0.1 * story.seconds)
    await asyncio.to_thread(hold_memory, platforms.l40s, "reranker")


async def _index_anew(story: Story, platforms: Watched, world: Path) -> None:
    await asyncio.sleep(0.8 * story.seconds)
    urls, anew = platforms.pocket.service_urls, IngestOptions(replace=True)
    await ingest_photos(_other_way_round(world / "images.jsonl"), urls["image_search"], anew)
    await ingest_pages(_other_way_round(world / "pages.jsonl"), urls["text_search"], anew)


def _other_way_round(manifest: Path) -> Path:
    """Another manifest of the same records: another version of the index, in which nothing is yet. It lies
    beside the first, because photos are named from there."""
    turned = manifest.with_stem(f"{manifest.stem}-turned")
    turned.write_text("".join(reversed(manifest.read_text().splitlines(keepends=True))))
    return turned


def main(arguments: Sequence[str] | None = None) -> int:
    """The pictures: every service in a process of its own, Prometheus every other second, one story."""
    parser = argparse.ArgumentParser("python -m tests.deploy.monitored_load")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--out", default="docs/dashboards")
    parser.add_argument("--keep", type=Path, help="an empty folder in which Prometheus' data stay, in data/")
    given = parser.parse_args(arguments)
    with ExitStack() as held:
        folder = given.keep or Path(held.enter_context(tempfile.TemporaryDirectory()))
        world = Path(shutil.copytree(SAMPLE, folder / "world"))
        pocket = SeparateProcesses(folder / "pocket")
        held.callback(pocket.stop)
        pocket.start()
        platforms = held.enter_context(watched(pocket, folder, scrape_s=2, rules=True))
        platforms.until("min(up) and count(up) > 18")
        pocket.index(world)
        until = time.time() + _LOAD_STARTS_S + given.seconds  # what is still under way then is not waited for
        asyncio.run(tell(Story(given.seconds), platforms, world))
        span = ["--minutes", str(given.seconds / 60), "--until", str(until), "--scrape", "2.5"]
        return grafana(["--draw", platforms.prometheus, "--out", given.out, *span])


if __name__ == "__main__":
    sys.exit(main())
