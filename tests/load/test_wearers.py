"""Wearers: what they make of replies, what they ask with, and the objectives that a run is held against."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.load.figures import summary
from bench.wearers.material import Conversation, load, write
from bench.wearers.notebook import Notebook
from bench.wearers.objectives import verdicts
from bench.wearers.records import Asked, Record, Results, of_reply
from bench.wearers.replies import Expected, Reply, read_reply
from bench.wearers.shape import Shape
from contracts.answer import Answer, Citation, CitationKind, Reason, Route

JSON, EVENTS, PROBLEM = "application/json", "text/event-stream", "application/problem+json"
SESSION = "s" * 32
CITED = Citation(title="the photo", url="", snippet="Gate B12", score=1.0, kind=CitationKind.PHOTO)
ANSWER = Answer(
    answer="It is gate B12.",
    abstained=False,
    reason=Reason.ANSWERED,
    confidence=0.9,
    route=Route.DIRECT,
    citations=[CITED],
    timings_ms={"ocr": 300.0, "total": 400.0},
    trace_id="0" * 32,
    session_id=SESSION,
)
STARTED = 1_000.0


def reply(answer: Answer, expected: Expected | None = None) -> Reply:
    return read_reply(200, {"Content-Type": JSON}, answer.model_dump_json().encode(), expected or Expected())


def problem(status: int, kind: str, **headers: str) -> Reply:
    body = {"type": f"urn:loreglass:problem:{kind}", "title": kind, "status": status, "detail": "so"}
    return read_reply(status, {"content-type": PROBLEM, **headers}, json.dumps(body).encode(), Expected())


def stream(*events: tuple[str, Any]) -> Reply:
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    return read_reply(200, {"content-type": EVENTS}, text.encode(), Expected())


def record(told: Reply, at_s: float = 1.0, ms: float = 500.0, asked: Asked = Asked.PHOTO) -> Record:
    return Record(
        asked=asked,
        sent=STARTED + at_s,
        ms=ms,
        first_ms=ms,
        late_after_ms=10_500.0,
        streamed=False,
        priority="standard",
        users=2,
        **of_reply(told),
    )


def run(records: Sequence[Record], shape: Shape = Shape.WEARERS, **more: Any) -> Results:
    return Results(shape.value, "http://gateway", 2, 100.0, STARTED, records, **more)


def missed(results: Results, unexpected: Sequence[str] = ()) -> set[str]:
    return {each.name for each in verdicts(results, 10.0, unexpected) if not each.held}


GOOD = [record(reply(ANSWER), at_s=place) for place in range(100)]
SHED = problem(503, "overloaded", **{"Retry-After": "2"})
TIMED_OUT = ANSWER.model_copy(update={"reason": Reason.TIMED_OUT, "abstained": True, "citations": []})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"session_id": "t" * 32}, Expected(SESSION)),
        ({}, Expected(SESSION, frozenset({"gate b12"}))),
        ({"abstained": True}, Expected()),
        ({"reason": Reason.NO_EVIDENCE}, Expected()),
        ({"timings_ms": {}}, Expected()),
        ({"answer": " "}, Expected()),
    ],
)
def test_an_answer_that_contradicts_itself_or_its_session_is_trouble(
    change: dict[str, Any], expected: Expected
) -> None:
    assert reply(ANSWER.model_copy(update=change), expected).trouble


def test_a_stream_that_adds_up_to_its_answer_is_that_answer() -> None:
    told = stream(
        ("stage", {"stage": "ocr", "state": "done", "ms": 3.0}),
        ("citation", CITED.model_dump(mode="json")),
        ("token", {"text": "It is "}),
        ("token", {"text": "gate B12."}),
        ("final", ANSWER.model_dump(mode="json")),
    )
    assert (told.answer, told.trouble) == (ANSWER, "")


def test_a_stream_that_does_not_add_up_is_trouble() -> None:
    final = ("final", ANSWER.model_dump(mode="json"))
    cited, words = ("citation", CITED.model_dump(mode="json")), ("token", {"text": ANSWER.answer})
    assert stream(words, final).trouble
    assert stream(cited, final).trouble
    assert stream(cited, words).trouble
    assert stream(cited, words, final, words).trouble
    assert stream(cited, words, final).trouble == ""


@pytest.mark.parametrize(
    ("bad", "objectives"),
    [
        (GOOD[0], set()),
        (record(SHED), {"turned away"}),
        (record(problem(503, "overloaded")), {"errors"}),
        (record(Reply(0)), {"errors"}),
        (record(problem(404, "session_not_found")), {"accepted"}),
        (record(reply(TIMED_OUT)), {"deadline"}),
        (record(reply(ANSWER), ms=10_501), {"in time", "deadline"}),
        (record(reply(ANSWER, Expected("t" * 32))), {"contract"}),
    ],
)
def test_one_bad_reply_in_a_hundred_misses_its_objective(bad: Record, objectives: set[str]) -> None:
    assert missed(run([*GOOD[1:], bad])) == objectives


def test_a_ramp_may_turn_wearers_away_but_not_once_it_is_over() -> None:
    assert not missed(run([*GOOD, record(SHED, at_s=50), record(reply(TIMED_OUT), at_s=60)], Shape.RAMP))
    assert missed(run([*GOOD, record(SHED, at_s=90)], Shape.RAMP)) == {"recovery"}
    assert missed(run(GOOD[:60], Shape.RAMP)) == {"recovery"}


def test_a_soak_may_fill_its_caches_but_not_go_on_growing() -> None:
    def growing(mib: Sequence[float]) -> dict[str, list[tuple[float, float]]]:
        return {"http://gateway": [(STARTED + place, size * 2**20) for place, size in enumerate(mib)]}

    settled = [100 + 20 * min(place, 10) for place in range(30)]
    leaking = [100 + 20 * place for place in range(30)]
    assert not missed(run(GOOD, Shape.SOAK, memory=growing(settled)))
    assert missed(run(GOOD, Shape.SOAK, memory=growing(leaking))) == {"memory"}
    assert missed(run(GOOD, Shape.SOAK, memory={"http://gateway": []})) == {"memory"}


def test_material_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = [Conversation(b"jpeg", ("what is it?", "and who made it?"), mark="Gate B12")]
    made.append(Conversation(b"other", ("who painted it?",), impossible=True))
    assert write(made, tmp_path) == 2
    assert load(tmp_path) == made


def test_a_worker_hands_over_what_the_master_judges() -> None:
    unaware = [replace(record, users=0) for record in GOOD]
    worker, master = Notebook(records=unaware, stumbles=["KeyError"]), Notebook(wearers=2)
    master.take_over(json.loads(json.dumps(worker.hand_over())))
    assert (master.records, master.stumbles) == (GOOD, ["KeyError"])
    assert not worker.records


def test_results_survive_the_way_to_a_file(tmp_path: Path) -> None:
    late = replace(GOOD[0], route="rag", ms=11_000.0, timings_ms={"image_search": 0.01, "total": 11_000.0})
    results = run([*GOOD, late, record(SHED), record(Reply(0))], memory={"x": [(1.0, 2.0)]})
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results
    told = dict(summary(results))
    assert (told["questions"], told["turned away"], told["server errors"]) == ("103", "1 %", "1")
