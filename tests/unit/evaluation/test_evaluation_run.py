"""Asking, scoring and reporting, against a real gateway on a real socket."""

import json
from collections.abc import Sequence
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from PIL import Image
from rich.console import Console
from typer.testing import CliRunner

from chassis.errors import NotReady
from clients.python import LoreglassClient
from contracts.answer import Reason, Route
from evaluation.__main__ import app
from evaluation.asking import Asking, ask_all
from evaluation.report import print_report, print_wrong, summarise, write_outcomes, write_summary
from evaluation.rows import World, WorldError, load_world, sample
from evaluation.run import main
from evaluation.scoring import Outcome
from gateway.stages.conclusion import Outcome as Concluded
from gateway.stages.conclusion import refusal
from gateway.state import Ask
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway

Turn = tuple[str, str, dict[str, Any]]
WHO: Turn = ("who wrote this?", "Mira Holm wrote it.", {"answer_type": "name", "accepted": ["Mira Holm"]})
PAGES: Turn = (
    "how many pages has it?",
    "It has 1,234 pages.",
    {"answer_type": "number", "accepted": ["1234"], "value": 1234, "unit": "pages"},
)
SMELL: Turn = ("what does it smell of?", "I don't know.", {"answer_type": "unanswerable"})
BROKEN: Turn = ("is it broken?", "Yes.", {"answer_type": "boolean", "accepted": ["yes"], "value": True})


def write_world(folder: Path, single: Sequence[Turn], multi: Sequence[Sequence[Turn]]) -> Path:
    """A world of these questions, in the benchmark's own row schema."""
    buffer = BytesIO()
    Image.new("RGB", (64, 48), "teal").save(buffer, "JPEG")
    (folder / "photo.jpg").write_bytes(buffer.getvalue())
    truths: list[dict[str, Any]] = []
    for name, sessions in (("questions", [[turn] for turn in single]), ("conversations", multi)):
        rows = [_row(f"{name}-{n}", session, truths) for n, session in enumerate(sessions)]
        _write(folder / f"{name}.jsonl", rows)
    _write(folder / "truth.jsonl", truths)
    return folder


def _row(session_id: str, turns: Sequence[Turn], truths: list[dict[str, Any]]) -> dict[str, Any]:
    ids = [f"{session_id}.{n}" for n in range(len(turns))]
    truths += [{"interaction_id": i, **truth} for i, (_, _, truth) in zip(ids, turns, strict=True)]
    columns = {"domain": "book", "query_category": "simple-knowledge", "dynamism": "static"}
    return {
        "session_id": session_id,
        "image": "photo.jpg",
        "image_url": None,
        "turns": {
            "interaction_id": ids,
            **{name: [label] * len(ids) for name, label in columns.items()},
            "query": [question for question, _, _ in turns],
            "image_quality": ["normal"] * len(ids),
        },
        "answers": {"interaction_id": ids, "ans_full": [gold for _, gold, _ in turns]},
    }


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def answer(ask: Ask) -> Concluded:
    if "broken" in ask.question:
        raise NotReady
    if "who" in ask.question:
        return Concluded("It is by Mira Holm.", Reason.ANSWERED, 0.9, Route.DIRECT)
    if "pages" in ask.question:
        return Concluded("200 pages", Reason.ANSWERED, 0.6, Route.RAG)
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


async def ask(world: World) -> tuple[list[Outcome], ScriptedPipeline]:
    pipeline, seen = ScriptedPipeline(answer), list[Outcome]()
    conversations = (*world.single, *world.multi)
    async with scripted_gateway(pipeline) as url, LoreglassClient(url) as client:
        outcomes = await ask_all(client, conversations, Asking(concurrency=3), seen.append)
    assert len(seen) == len(outcomes)
    return outcomes, pipeline


@pytest.mark.anyio
async def test_every_question_has_an_outcome_in_its_order(tmp_path: Path) -> None:
    world = load_world(write_world(tmp_path, [WHO, PAGES, SMELL, BROKEN], [[WHO, PAGES], [SMELL, WHO]]))
    outcomes, pipeline = await ask(world)
    assert [(each.turn.question, each.verdict.value, each.error) for each in outcomes] == [
        (WHO[0], "correct", None),
        (PAGES[0], "incorrect", None),
        (SMELL[0], "missing", None),
        (BROKEN[0], "missing", "not_ready"),
        (WHO[0], "correct", None),
        (PAGES[0], "incorrect", None),
        (SMELL[0], "missing", None),
        (WHO[0], "correct", None),
    ]
    assert sum(ask.photo_is_new for ask in pipeline.asked) == 6


@pytest.mark.anyio
async def test_a_conversation_whose_first_turn_fails_sends_its_photo_again(tmp_path: Path) -> None:
    outcomes, pipeline = await ask(load_world(write_world(tmp_path, [], [[BROKEN, WHO, WHO]])))
    assert [each.error for each in outcomes] == ["not_ready", None, None]
    assert [ask.photo_is_new for ask in pipeline.asked] == [True, True, False]


@pytest.mark.anyio
async def test_the_report_shows_scores_failures_and_what_went_wrong(tmp_path: Path) -> None:
    world = load_world(write_world(tmp_path, [WHO, PAGES, SMELL, BROKEN], [[WHO, PAGES]]))
    outcomes, _ = await ask(world)
    report = summarise(outcomes[:4], outcomes[4:])
    assert report.overall["single-turn"].truthfulness == 0
    assert report.groups["answerable"]["no"].missing == 1
    assert set(report.groups["route"]) == {"direct", "rag", "error"}
    assert report.errors == {"not_ready": 1}
    console = Console(file=StringIO(), width=160)
    print_report(report, console)
    print_wrong(outcomes, 1, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for expected in ("single-turn", "failed requests: not_ready 1", "1 of 1 questions", "said:   200 pages"):
        assert expected in shown


@pytest.mark.anyio
async def test_results_are_written_one_line_a_question(tmp_path: Path) -> None:
    outcomes, _ = await ask(load_world(write_world(tmp_path, [WHO, BROKEN], [])))
    write_outcomes(tmp_path / "results.jsonl", outcomes)
    write_summary(tmp_path / "summary.json", summarise(outcomes, []))
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line["verdict"] for line in lines] == ["correct", "error"]
    assert lines[0]["timings_ms"]["total"] > 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["overall"]["single-turn"]["truthfulness"] == 0.5


def test_a_question_without_truth_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_world(tmp_path, [WHO], [])
    (folder / "truth.jsonl").write_text("")
    with pytest.raises(WorldError, match=r"truth\.jsonl has nothing on interaction questions-0\.0"):
        load_world(folder)


def test_a_line_that_does_not_fit_is_named(tmp_path: Path) -> None:
    folder = write_world(tmp_path, [WHO, PAGES], [])
    rows = (folder / "questions.jsonl").read_text().splitlines()
    (folder / "questions.jsonl").write_text(rows[0] + "\n" + rows[1].replace('"static"', ""))
    with pytest.raises(WorldError, match=r"questions\.jsonl, line 2"):
        load_world(folder)


def test_a_photo_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = write_world(tmp_path, [WHO], [])
    (folder / "photo.jpg").unlink()
    with pytest.raises(WorldError, match=r"photo\.jpg"):
        load_world(folder)


def test_a_session_that_comes_twice_is_named(tmp_path: Path) -> None:
    folder = write_world(tmp_path, [WHO], [])
    row = (folder / "questions.jsonl").read_text()
    (folder / "questions.jsonl").write_text(row + row)
    with pytest.raises(WorldError, match="questions-0"):
        load_world(folder)


def test_a_sample_is_the_first_ones_or_the_choice_of_a_seed(tmp_path: Path) -> None:
    many = load_world(write_world(tmp_path, [WHO] * 20, [])).single
    assert sample(many, 3, None) == many[:3]
    assert sample(many, None, 1) == many
    assert sample(many, 5, 1) == sample(many, 5, 1)
    assert sample(many, 5, 1) != sample(many, 5, 2)


@pytest.mark.anyio
async def test_the_command_asks_scores_prints_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = write_world(tmp_path, [WHO, PAGES, SMELL], [[WHO, PAGES]])
    async with scripted_gateway(ScriptedPipeline(answer)) as url:
        report = await anyio.to_thread.run_sync(partial(main, url, world, show_wrong=5))
    assert report.overall["single-turn"].count == 3
    assert "hallucination" in capsys.readouterr().out
    assert len((world / "results.jsonl").read_text().splitlines()) == 5
    assert (world / "results.summary.json").exists()


def test_a_folder_without_questions_is_refused_with_the_usage(tmp_path: Path) -> None:
    reply = CliRunner().invoke(app, ["--gateway", "http://127.0.0.1:9", "--world", str(tmp_path)])
    assert reply.exit_code == 2
    assert "truth.jsonl" in reply.output
