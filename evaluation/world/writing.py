"""Writes a world to a folder, in CRAG-MM's row schema plus the truth for our own judge."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from evaluation.world.infobox import attributes
from evaluation.world.model import Thing
from evaluation.world.pages import Page
from evaluation.world.questions.session import Session

Row = dict[str, object]


def session_row(session: Session) -> Row:
    """One CRAG-MM v0.1.2 row: columns of turns and answers; `image` is a path in the folder."""
    asks = [turn.ask for turn in session.turns]
    ids = [turn.interaction_id for turn in session.turns]
    return {
        "session_id": session.session_id,
        "image": session.shot.name,
        "image_url": None,
        "turns": {
            "interaction_id": ids,
            "domain": [ask.domain for ask in asks],
            "query_category": [ask.category.value for ask in asks],
            "dynamism": [ask.dynamism for ask in asks],
            "query": [ask.query for ask in asks],
            "image_quality": [session.shot.quality.value for _ in asks],
        },
        "answers": {"interaction_id": ids, "ans_full": [ask.answer for ask in asks]},
    }


def truth_rows(session: Session) -> Iterable[Row]:
    """What the judge needs per turn, and what image search should find."""
    subject = session.turns[0].ask.subject
    for turn in session.turns:
        ask = turn.ask
        yield {
            "interaction_id": turn.interaction_id,
            "answer_type": ask.value.type.value,
            "accepted": list(ask.value.accepted),
            "must_not": list(ask.must_not),
            "contrast": list(ask.contrast),
            "value": ask.value.plain,
            "unit": ask.value.unit,
            "entity": ask.entity,
            "needs": ask.needs,
            "photographed": subject.name if subject.catalogued else "",
        }


def catalogue_path(thing: Thing) -> str:
    """Where a thing's catalogue picture lies in the folder."""
    return f"catalogue/{thing.key}.jpg"


def image_row(thing: Thing) -> Row:
    """One record of the image knowledge base."""
    row: Row = {
        "photo": catalogue_path(thing),
        "entity": thing.name,
        "attributes": attributes(thing),
    }
    return row


def page_row(page: Page) -> Row:
    """One web page."""
    return {
        "url": page.url,
        "title": page.title,
        "html": page.html,
        "last_modified": page.last_modified,
    }


def write_lines(path: Path, rows: Iterable[Row]) -> None:
    """JSON Lines, UTF-8, keys in order of creation so that equal worlds have equal bytes."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def write_texts(
    folder: Path,
    things: Iterable[Thing],
    pages: Iterable[Page],
    questions: Iterable[Session],
    conversations: Iterable[Session],
) -> None:
    """Every JSON Lines file and the HTML pages."""
    questions, conversations, pages = list(questions), list(conversations), list(pages)
    write_lines(folder / "images.jsonl", (image_row(t) for t in things if t.catalogued))
    write_lines(folder / "pages.jsonl", (page_row(page) for page in pages))
    (folder / "pages").mkdir(exist_ok=True)
    for page in pages:
        name = page.url.rsplit("/", 1)[-1]
        (folder / "pages" / f"{name}.html").write_text(page.html, encoding="utf-8", newline="\n")
    write_lines(folder / "questions.jsonl", map(session_row, questions))
    write_lines(folder / "conversations.jsonl", map(session_row, conversations))
    rows = (row for session in questions + conversations for row in truth_rows(session))
    write_lines(folder / "truth.jsonl", rows)
