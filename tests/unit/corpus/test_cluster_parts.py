"""How a source is cut, what stages do without Ray, and when readers keep the old index."""

import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.errors import CollectionConflict, DependencyUnavailable
from chassis.http.calls import ServiceClient, http_client
from chassis.vectors.edge import EdgeStore
from contracts.collections import Built
from corpus.cluster import ingest, stages
from corpus.cluster.ingest import ClusterOptions, require_points
from corpus.cluster.stages import Claims, Part, Result, Row, Target, cut, prepare, read, row_of
from corpus.ingest import IMAGES, PAGES, IngestOptions
from corpus.items import prepare_page
from corpus.manifests import ManifestError, Rejected, json_lines, spans
from corpus.pipeline import Outcome
from corpus.records import read_pages, read_photos
from corpus.sources import SourceName, manifest_digest
from corpus.versions import Patience, Version
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live

AWAY = Target(PAGES, "http://127.0.0.1:9", "", "", False, Patience(pauses_s=()))


@given(
    st.lists(st.sampled_from([b'{"a": 1}', b"", b"  ", b"{", b"\xff", b'"text"']), max_size=30),
    st.integers(1, 5),
)
def test_spans_contain_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], most: int
) -> None:
    source = tmp_path_factory.mktemp("spans") / "lines.jsonl"
    source.write_bytes(b"\n".join(lines))
    results = list(spans(source, most, 2**20))
    assert [each for span in results for each in json_lines(source, span)] == list(json_lines(source))
    assert all(span.records <= most for span in results)
    assert [span.start for span in results[1:]] == [span.end for span in results[:-1]]


def test_spans_with_long_lines_are_shorter(tmp_path: Path) -> None:
    source = tmp_path / "long.jsonl"
    source.write_text("\n".join([json.dumps("x" * 1000)] * 6))
    assert [span.records for span in spans(source, 100, 1500)] == [2, 2, 2]


def pages(folder: Path, count: int) -> Path:
    """A manifest of so many pages."""
    source = folder / "pages.jsonl"
    lines = (json.dumps({"url": f"https://a.example/{n}", "text": f"Mill {n}."}) for n in range(count))
    source.write_text("\n".join(lines))
    return source


def read_back(alias: str, source: Path, parts: list[Part]) -> list[Any]:
    return [each for part in parts for each in read(alias, source, part.content)]


def test_parts_contain_every_record_and_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pages(tmp_path, 25)
    result, digest = cut(PAGES, source, 10)
    assert [part.records for part in result] == [10, 10, 5]
    assert digest == manifest_digest(source)
    assert read_back(PAGES, source, result) == list(read_pages(source))
    monkeypatch.setattr(stages, "MOST_PARTS", 2)
    with pytest.raises(ManifestError, match="--part-records 20 or more"):
        cut(PAGES, source, 10)


def test_folders_are_split_into_parts(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"Mill {chr(65 + number)}.jpg").write_bytes(bytes([number]))
    for alias, records in ((IMAGES, read_photos), (PAGES, read_pages)):
        result, _ = cut(alias, tmp_path, 2)
        assert [part.records for part in result] == [2, 2, 1]
        assert read_back(alias, tmp_path, result) == list(records(tmp_path))


def prepared(source: Path, part: Part) -> list[Any]:
    """The items of a part."""
    return [pickle.loads(row["item"]) for row in prepare(row_of(0, part.content), PAGES, source)]


def test_missing_source_on_a_worker_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "mill.txt").write_text("The mill.")
    [part] = cut(PAGES, tmp_path / "pages", 10)[0]
    (tmp_path / "pages").rename(tmp_path / "not-mounted")
    [failure] = prepared(tmp_path / "pages", part)
    assert isinstance(failure, DependencyUnavailable)


def test_unexpected_record_is_reported_and_its_part_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = pages(tmp_path, 5)
    [part] = cut(PAGES, source, 5)[0]
    usual = prepared(source, part)

    def fails(record: Any, ocr_url: str) -> Any:
        if record.where == "line 3":
            raise TypeError
        return prepare_page(record, ocr_url)

    monkeypatch.setattr(stages, "prepare_page", fails)
    usual[2] = Rejected("line 3", "It could not be read (TypeError).")
    assert prepared(source, part) == usual


def test_first_record_claims_a_duplicate_key() -> None:
    claims = Claims()
    assert claims.claim({"a": "line 1"}) == {"a": "line 1"}
    assert claims.claim({"a": "line 2", "b": "line 3"}) == {"a": "line 1", "b": "line 3"}
    assert claims.claim({"a": "line 1"}) == {"a": "line 1"}  # tried again


class WithoutRay(ingest._Run):
    """`come_back` says whether a line comes back from a pass; the version remembers nothing."""

    def __init__(self, source: Path, come_back: Callable[[int, int], bool]) -> None:
        version: Any = SimpleNamespace(finish=None)
        super().__init__(source, SourceName(), AWAY, None, ClusterOptions(), version, IngestOptions())
        self._come_back, self.passes = come_back, 0

    def _pass(self, rows: Sequence[Row]) -> None:
        self.passes += 1
        for row in rows:
            lines = json_lines(self.source, pickle.loads(row["content"]))
            for place, (where, _) in enumerate(lines):
                if self._come_back(int(where.removeprefix("line ")), self.passes):
                    self._add([Result(row["part"], place, where, Outcome.ADDED, "", 1)])


def run_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, come_back: Callable[[int, int], bool]
) -> tuple[WithoutRay, list[Part]]:
    """A run over 20 pages in 4 parts."""
    monkeypatch.setattr(ingest, "run_on_loop", lambda *_: None)
    source = pages(folder, 20)
    return WithoutRay(source, come_back), cut(PAGES, source, 5)[0]


def test_incomplete_part_is_retried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, cuts = run_of(tmp_path, monkeypatch, lambda line, time: time > 1 or line != 13)
    run.take(cuts, ())
    assert (run.tally.written, run.tally.points) == (20, 20)
    assert sorted(run.finished) == [f"part-{n}-of-4-by-5-5-5" for n in range(4)]


def test_finished_parts_are_counted_and_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[int]()

    def come_back(line: int, _: int) -> bool:
        seen.append(line)
        return True

    run, result = run_of(tmp_path, monkeypatch, come_back)
    run.take(result, ["part-0-of-4-by-5-4-9", "part-1-of-9-by-5-4-9"])
    assert seen == list(range(6, 21))
    assert (run.tally.written, run.tally.counts[Outcome.UNCHANGED], run.tally.points) == (15, 4, 24)


def test_run_fails_after_losing_a_part_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, cuts = run_of(tmp_path, monkeypatch, lambda line, _: line != 13)
    with pytest.raises(DependencyUnavailable, match="Ray has lost 1 of 4 parts twice"):
        run.take(cuts, ())


@pytest.mark.parametrize(
    ("points", "exactly", "whole"), [(10, True, True), (9, True, False), (11, True, False), (11, False, True)]
)
def test_index_is_published_only_with_all_points(points: int, exactly: bool, whole: bool) -> None:
    built = Built(points=points, ready=True)
    if whole:
        require_points(10, exactly, built)
    else:
        with pytest.raises(CollectionConflict, match="readers keep the old one"):
            require_points(10, exactly, built)


async def test_service_accepts_the_largest_number_of_parts(tmp_path: Path) -> None:
    async with live(create_app(TextSearchSettings(port=0, data_dir=tmp_path / "vectors"))) as client:
        await client.post("/v1/collections", json={"name": "v1"})
        names = [f"part-{number}-of-4000-by-1000000-1000000-20000000" for number in range(stages.MOST_PARTS)]
        reply = await client.put("/v1/collections/v1/finished", json={"parts": names})
        assert reply.status_code == 200, reply.text
        assert reply.json()["finished"] == names


async def test_unbuilt_index_ends_the_wait_with_a_message(
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
