"""A small world folder and a gateway script that knows some of its answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from chassis.errors import NotReady
from contracts.answer import Reason, Route
from gateway.state import Query
from gateway.steps.conclusion import Outcome, refusal

Turn = tuple[str, str, dict[str, Any]]
WHO: Turn = ("who wrote this?", "Mira Holm wrote it.", {"answer_type": "name", "accepted": ["Mira Holm"]})
PAGES: Turn = (
    "how many pages has it?",
    "It has 1,234 pages.",
    {"answer_type": "number", "accepted": ["1234"], "value": 1234, "unit": "pages"},
)
SMELL: Turn = ("what does it smell of?", "I don't know.", {"answer_type": "unanswerable"})
BROKEN: Turn = ("is it broken?", "Yes.", {"answer_type": "boolean", "accepted": ["yes"], "value": True})


def script(ask: Query) -> Outcome:
    """Right about authors, wrong about pages, honest about smells; breaks over what is broken."""
    if "broken" in ask.question:
        raise NotReady
    if "who" in ask.question:
        return Outcome("It is by Mira Holm.", Reason.ANSWERED, 0.9, Route.DIRECT)
    if "pages" in ask.question:
        return Outcome("200 pages", Reason.ANSWERED, 0.6, Route.RAG)
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


def write_world(folder: Path, single: Sequence[Turn], multi: Sequence[Sequence[Turn]]) -> Path:
    """A world of these questions, in the benchmark's own row schema."""
    folder.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 48), "teal").save(folder / "photo.jpg")
    truths: list[dict[str, Any]] = []
    for name, sessions in (("questions", [[turn] for turn in single]), ("conversations", multi)):
        rows = [_row(f"{name}-{n}", session, truths) for n, session in enumerate(sessions)]
        _write(folder / f"{name}.jsonl", rows)
    _write(folder / "truth.jsonl", truths)
    return folder


def numbered(count: int) -> list[Turn]:
    """As many questions as wanted, each with a number of its own."""
    return [(f"who wrote this, number {n}?", WHO[1], WHO[2]) for n in range(count)]


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
