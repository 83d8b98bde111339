"""Makes a whole world: facts, questions, pages, then the pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from evaluation.world.model import World
from evaluation.world.pages import Page, Site
from evaluation.world.pictures import write_pictures
from evaluation.world.plan import Plan, Split, plan_for
from evaluation.world.questions.dialogues import conversations
from evaluation.world.questions.session import Session
from evaluation.world.questions.singles import single_turns
from evaluation.world.things import build_world
from evaluation.world.writing import write_texts


@dataclass(frozen=True)
class Generated:
    """A world with everything asked and written about it, before any pixel."""

    world: World
    pages: tuple[Page, ...]
    questions: tuple[Session, ...]
    conversations: tuple[Session, ...]


def generate(plan: Plan) -> Generated:
    """All of a plan's text; the same plan gives the same result."""
    world = build_world(plan)
    questions = single_turns(world, plan.questions)
    talks = conversations(world, plan.conversations)
    pages = trimmed(plan, Site(world).pages(), [*questions, *talks])
    return Generated(world, tuple(pages), tuple(questions), tuple(talks))


def trimmed(plan: Plan, pages: list[Page], sessions: list[Session]) -> list[Page]:
    """At most as many pages as planned, without losing one that a question needs."""
    if plan.pages is None:
        return pages
    needed = {key for session in sessions for turn in session.turns for key in turn.ask.pages}
    spare = plan.pages - sum(page.rule or page.about in needed for page in pages)
    kept = []
    for page in pages:
        necessary = page.rule or page.about in needed
        if necessary or spare > 0:
            kept.append(page)
        if not necessary:
            spare -= 1
    return kept


app = typer.Typer(add_completion=False)


@app.command()
def main(
    split: Annotated[Split, typer.Option(help="Which world.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    seed: Annotated[int | None, typer.Option(help="Another seed than the split's own.")] = None,
    entities: Annotated[int | None, typer.Option(help="How many things to photograph.")] = None,
) -> None:
    """Generate a synthetic world of photos, an image knowledge base, pages and questions."""
    plan = plan_for(split, seed, entities)
    made = generate(plan)
    out.mkdir(parents=True, exist_ok=True)
    write_texts(out, made.world, made.pages, made.questions, made.conversations)
    write_pictures(out, made.world, (*made.questions, *made.conversations))
