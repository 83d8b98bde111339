"""How a source is cut, what is made of blocks that are lost, and when readers are not led on: without Ray."""

import json
import pickle
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.errors import CollectionConflict, DependencyUnavailable, Internal, NotConfigured, Overloaded
from chassis.http.calls import ServiceClient, http_client
from chassis.vectors.edge import EdgeStore
from contracts.collections import Built
from contracts.text_search import Chunk, Chunks
from corpus.cluster import ingest, parts, stages
from corpus.cluster.ingest import require_found
from corpus.cluster.jobs import MOST_FATAL, Counts, Jobs, PartDone, Pools
from corpus.cluster.parts import Block, Part, Sizes, cut_pages, cut_photos, one_by_one, prepared, where_of
from corpus.cluster.stages import KEY_BYTES, Done, Preparing, Target, Writing, Written, held_keys, key_digest
from corpus.ingest import PAGES, IngestOptions, ingest_pages
from corpus.items import page_items, photo_items
from corpus.jsonl import ManifestError, Rejected, Span, json_lines, spans
from corpus.manifests import manifest_digest
from corpus.pipeline import Outcome
from corpus.versions import Patience, Version
from deploy.embedding import EMBEDDERS
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live


@given(
    st.lists(st.sampled_from([b'{"a": 1}', b"", b"  ", b"{", b"\xff", b'"text"']), max_size=30),
    st.integers(1, 5),
)
def test_spans_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], most: int
) -> None:
    source = tmp_path_factory.mktemp("spans") / "lines.jsonl"
    source.write_bytes(b"\n".join(lines))
    found = list(spans(source, most, 2**20))
    assert [each for span in found for each in json_lines(source, span)] == list(json_lines(source))
    assert all(span.records <= most for span in found)
    assert [span.start for span in found[1:]] == [span.end for span in found[:-1]]


def test_a_span_ends_early_where_its_lines_are_long(tmp_path: Path) -> None:
    source = tmp_path / "long.jsonl"
    source.write_text("\n".join([json.dumps("x" * 1000)] * 6))
    assert [span.records for span in spans(source, 100, 1500)] == [2, 2, 2]


def test_parts_have_the_records_and_the_digest_of_the_whole(tmp_path: Path) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_text(
        "\n".join(json.dumps({"url": f"https://a.example/{n}", "text": f"Mill {n}."}) for n in range(25))
    )
    cut = cut_pages(source, Sizes(part=10, block=4))
    assert [part.records for part in cut.parts] == [8, 8, 9]
    assert cut.records == 25
    assert cut.digest == manifest_digest(source)
    blocks = [block for part in cut.parts for block in part.blocks]
    assert [each for block in blocks for each in prepared(True, source, block)] == list(page_items(source))


def test_folders_are_cut_too(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"Mill {chr(65 + number)}.jpg").write_bytes(bytes([number]))
        (tmp_path / f"page {number}.txt").write_text(f"Mill {number}.")
    photos, pages = cut_photos(tmp_path, Sizes(4, 3)), cut_pages(tmp_path, Sizes(100, 3))
    assert [part.records for part in photos.parts] == [3, 3, 4]
    of_photos = [
        each for part in photos.parts for block in part.blocks for each in prepared(False, tmp_path, block)
    ]
    of_pages = [
        each for part in pages.parts for block in part.blocks for each in prepared(True, tmp_path, block)
    ]
    assert of_photos == list(photo_items(tmp_path))
    assert of_pages == list(page_items(tmp_path))
    [block] = [block for part in photos.parts[:1] for block in part.blocks]
    assert [where_of(each) for each in one_by_one(tmp_path, block)] == [
        "Mill A.jpg",
        "Mill B.jpg",
        "Mill C.jpg",
    ]


class JobsWithoutRay(Jobs):
    """`come_back` gives a record's key by its line and the pass, or None where the process ends."""

    def __init__(self, source: Path, come_back: Callable[[int, int], str | None]) -> None:
        target = Target(PAGES, "", "", "", False, Patience())
        super().__init__(source, target, Pools(1, 1, 0), None)
        self._come_back, self.passes = come_back, 0

    def _rows(self, blocks: Sequence[Block], earlier: Sequence[Any]) -> Iterator[tuple[int, Written]]:
        self.passes += 1
        for index, block in enumerate(blocks):
            assert isinstance(block, Span)
            lines = range(block.line, block.line + block.records)
            keys = [self._come_back(line, self.passes) for line in lines]
            if None not in keys:
                done = [
                    Done(f"line {line}", Outcome.INDEXED, key_digest(str(key)), 1, str(line))
                    for line, key in zip(lines, keys, strict=True)
                ]
                yield index, Written(tuple(done))


def by_line(line: int, _: int) -> str:
    return str(line)


def part_of(folder: Path, lines: int, block: int) -> tuple[Path, Part]:
    source = folder / "lines.jsonl"
    source.write_text("\n".join(json.dumps({"line": line}) for line in range(lines)))
    [part] = cut_pages(source, Sizes(lines, block)).parts
    return source, part


def test_a_record_that_ends_processes_is_found_among_its_block_and_named(tmp_path: Path) -> None:
    source, part = part_of(tmp_path, 20, 5)
    jobs = JobsWithoutRay(source, lambda line, _: None if line == 13 else str(line))
    done = jobs.run(part, [], lambda _: None)
    assert done.counts.named == [Rejected("line 13", "The process that read it ended; it was left out.")]
    assert (done.counts.indexed, done.counts.points, len(done.keys)) == (19, 19, 19)
    assert bool(np.all(done.keys[1:] > done.keys[:-1]))


def test_a_part_is_gone_through_again_where_two_records_of_one_key_were_taken(tmp_path: Path) -> None:
    source, part = part_of(tmp_path, 20, 5)
    jobs = JobsWithoutRay(source, lambda line, time: "1" if line == 7 and time == 1 else str(line))
    done = jobs.run(part, [], lambda _: None)
    assert jobs.passes == 2
    assert len(done.keys) == 20


def test_a_part_whose_actors_are_always_lost_ends_the_run(tmp_path: Path) -> None:
    source, part = part_of(tmp_path, 20, 5)
    with pytest.raises(Internal):
        JobsWithoutRay(source, lambda line, _: "same").run(part, [], lambda _: None)


def test_a_record_that_is_lost_beside_one_that_ends_processes_is_not_left_out(tmp_path: Path) -> None:
    source, part = part_of(tmp_path, 20, 5)

    def come_back(line: int, time: int) -> str | None:
        return None if line == 13 or (line == 14 and time <= 2) else str(line)

    done = JobsWithoutRay(source, come_back).run(part, [], lambda _: None)
    assert [each.where for each in done.counts.named] == ["line 13"]
    assert len(done.keys) == 19


def test_a_part_that_loses_more_than_single_records_ends_the_run(tmp_path: Path) -> None:
    """A node whose disk is full loses whole blocks, and again when they are cut."""
    source, part = part_of(tmp_path, 20, 5)
    lost = range(1, 2 + MOST_FATAL)
    jobs = JobsWithoutRay(source, lambda line, _: None if line in lost else str(line))
    with pytest.raises(DependencyUnavailable, match="Ray has lost"):
        jobs.run(part, [], lambda _: None)


def test_a_machine_without_the_source_ends_the_run_and_rejects_nothing(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "mill.txt").write_text("The mill.")
    [part] = cut_pages(tmp_path / "pages", Sizes(10, 10)).parts
    (tmp_path / "pages").rename(tmp_path / "not-mounted")
    row = {"index": 0, "block": pickle.dumps(part.blocks[0])}
    items = pickle.loads(Preparing(PAGES, tmp_path / "pages")(row)["items"])
    assert isinstance(items, DependencyUnavailable)
    with Writing(Target(PAGES, "http://127.0.0.1:9", "", "", False, Patience(pauses_s=())), None) as writing:
        written: Written = pickle.loads(writing({"index": 0, "items": pickle.dumps(items)})["written"])
    assert written.failure is not None
    assert written.failure.detail == items.detail


def test_a_record_that_our_code_did_not_expect_is_named_and_its_block_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, part = part_of(tmp_path, 5, 5)

    def fails(alias_is_pages: bool, source: Path, block: Block) -> Iterator[Any]:
        assert isinstance(block, Span)
        for where, _ in json_lines(source, block):
            if where == "line 3":
                raise TypeError(where)
            yield where

    monkeypatch.setattr(stages, "prepared", fails)
    row = {"index": 0, "block": pickle.dumps(part.blocks[0])}
    items = pickle.loads(Preparing(PAGES, source)(row)["items"])
    assert items.pop(2) == Rejected("line 3", "It could not be read (TypeError).")
    assert items == ["line 1", "line 2", "line 4", "line 5"]


def test_more_parts_than_a_version_remembers_are_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_PARTS", 4)
    source, _ = part_of(tmp_path, 5, 1)
    assert len(cut_pages(source, Sizes(2, 1)).parts) == 3
    with pytest.raises(ManifestError, match="--part-records"):
        cut_pages(source, Sizes(1, 1))


@pytest.mark.anyio
async def test_a_service_takes_the_names_of_as_many_parts_as_there_may_be(tmp_path: Path) -> None:
    async with live(create_app(TextSearchSettings(port=0, data_dir=tmp_path / "vectors"))) as client:
        await client.post("/v1/collections", json={"name": "v1"})
        names = [f"part-{number}-of-1000000-by-4096" for number in range(parts.MOST_PARTS)]
        reply = await client.put("/v1/collections/v1/finished", json={"parts": names})
        assert reply.status_code == 200, reply.text
        assert reply.json()["finished"] == names


@given(st.sets(st.integers(0, 40)), st.lists(st.integers(0, 40)))
def test_keys_of_earlier_parts_are_found_whichever_there_are(held: set[int], wanted: list[int]) -> None:
    keys = np.sort(np.array([key_digest(str(each)) for each in held], dtype=f"S{KEY_BYTES}"))
    assert held_keys(keys, [key_digest(str(each)) for each in wanted]).tolist() == [
        each in held for each in wanted
    ]


def test_a_torn_file_of_what_was_finished_is_as_none(tmp_path: Path) -> None:
    done = PartDone(Counts(indexed=3, points=5), np.sort(np.array([b"a", b"b", b"c"], f"S{KEY_BYTES}")), ())
    path = tmp_path / "part-0.npz"
    ingest._write(path, done)
    whole = path.read_bytes()
    held = ingest._read(path)
    assert held is not None
    assert (held.counts.unchanged, held.counts.points, held.keys.tolist()) == (3, 5, done.keys.tolist())
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert ingest._read(path) is None


@pytest.mark.anyio
async def test_an_index_that_is_never_built_ends_the_wait_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(EdgeStore, "build", lambda *_: False)
    now = [0.0]

    async def pause(seconds: float) -> None:
        now[0] += 3600.0

    async with (
        live(create_app(TextSearchSettings(port=0, data_dir=tmp_path / "vectors"))) as client,
        http_client() as http,
    ):
        service = ServiceClient(http, "text_search", str(client.base_url))
        version = Version(service, PAGES, Patience((), pause, lambda: now[0]))
        await version.open("a manifest", replace=True)
        await version.ensure()
        with pytest.raises(DependencyUnavailable, match="48 hours"):
            await version.publish()


def test_a_service_that_fails_ends_the_run_with_its_error(tmp_path: Path) -> None:
    source, part = part_of(tmp_path, 5, 5)

    class Failing(JobsWithoutRay):
        def _rows(self, blocks: Sequence[Block], earlier: Sequence[Any]) -> Iterator[tuple[int, Written]]:
            yield 0, Written(failure=Overloaded("Busy."))

    with pytest.raises(Overloaded, match="Busy"):
        Failing(source, by_line).run(part, [], lambda _: None)


@pytest.mark.parametrize(
    ("points", "exactly", "recall", "found"),
    [
        (10, True, 1.0, True),
        (9, True, 1.0, False),
        (11, True, 1.0, False),
        (11, False, 1.0, True),
        (10, True, 0.9, False),
    ],
)
def test_readers_are_led_on_only_where_all_points_are_there_and_found(
    points: int, exactly: bool, recall: float, found: bool
) -> None:
    built = Built(points=points, ready=True, recall=recall)
    if found:
        require_found(10, exactly, 0.95, built)
    else:
        with pytest.raises(CollectionConflict, match="readers keep the old one"):
            require_found(10, exactly, 0.95, built)


@pytest.mark.anyio
async def test_a_version_that_lacks_points_is_not_published_and_remembers_its_parts(tmp_path: Path) -> None:
    source = tmp_path / "page.txt"
    source.write_text("The red mill.")
    async with (
        live(create_app(TextSearchSettings(port=0, data_dir=tmp_path / "vectors"))) as client,
        http_client() as http,
    ):
        before = await ingest_pages(source, str(client.base_url), IngestOptions())
        service = ServiceClient(http, "text_search", str(client.base_url))
        version = Version(service, PAGES, Patience(pauses_s=()))
        await version.open("another manifest", replace=True)
        chunk = Chunk(
            id="6c1c6bd2-2f3b-5a6f-9d55-0f7c2f6b7a11",
            url="https://a.example",
            title="",
            text="A mill.",
            position=0,
        )
        body = Chunks(chunks=[chunk]).model_dump(mode="json")
        await client.put(f"/v1/collections/{await version.ensure()}/chunks", json=body)
        await version.finish(["part-0"])
        with pytest.raises(CollectionConflict, match="1 of 2 points"):
            await version.publish(10, lambda built: require_found(2, version.starts_empty, 0.95, built))
        held = {each["name"]: each for each in (await client.get("/v1/collections")).json()["collections"]}
        again = Version(service, PAGES, Patience(pauses_s=()))
        await again.open("another manifest", replace=True)
    assert held[before.version]["aliases"] == ["pages"]
    assert held[version.name]["finished"] == ["part-0"]
    assert again.finished == ("part-0",)


def test_an_actor_that_embeds_runs_the_search_service_itself(tmp_path: Path) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_text(json.dumps({"url": "https://a.example", "text": "The red mill."}))
    cut = cut_pages(source, Sizes(10, 10))
    held: list[int] = []

    @asynccontextmanager
    async def embedder() -> AsyncIterator[str]:
        async with live(create_app(TextSearchSettings(port=0, data_dir=tmp_path / "vectors"))) as client:
            async with http_client() as http:
                version = Version(ServiceClient(http, "text_search", str(client.base_url)), PAGES, Patience())
                await version.open(cut.digest, replace=False)
                await version.ensure()
            yield str(client.base_url)
            held.extend(
                each["points"] for each in (await client.get("/v1/collections")).json()["collections"]
            )

    target = Target(PAGES, "http://127.0.0.1:9", "", cut.digest, False, Patience(pauses_s=()), embedder)
    with Writing(target, None) as writing:
        items = pickle.dumps(list(page_items(source)))
        written: Written = pickle.loads(writing({"index": 0, "items": items})["written"])
    assert [each.outcome for each in written.done] == [Outcome.INDEXED]
    assert held == [1]


def test_an_actor_that_cannot_embed_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOREGLASS_TEXT_SEARCH_QDRANT_URL", raising=False)
    target = Target(PAGES, "http://127.0.0.1:9", "", "", False, Patience(pauses_s=()), EMBEDDERS[PAGES])
    with Writing(target, None) as writing:
        written: Written = pickle.loads(writing({"index": 0, "items": pickle.dumps([])})["written"])
    assert isinstance(written.failure, NotConfigured)
    assert "Qdrant server" in written.failure.detail
