"""`loreglass demo`: a sample world, its index, the platform, and questions over real HTTP, in one table."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import anyio
from anyio.from_thread import start_blocking_portal
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from chassis.telemetry.logs import configure_logging
from corpus.cli import index
from corpus.ingest import ingest_pages, ingest_photos
from deploy.one_process import Platform, platform
from deploy.sample import SAMPLE, sample_world
from deploy.settings import VAR, PocketSettings
from evaluation.data.model import AskedTurn, Conversation
from evaluation.data.world import World, load_world, truth_of
from evaluation.judging.judge import judge
from evaluation.judging.port import Verdict
from loreglass_client import Answer, AsyncLoreglass, LoreglassError

INDEX = VAR / "demo"
RIGHT, NOT_KNOWN, WRONG = "✓", "?", "✗"
LEAST_RIGHT = 12

PAGE_FACTS = ("simple-knowledge", "multi-hop")
Wanted = Callable[[AskedTurn], bool]
KINDS: Sequence[tuple[int, Wanted]] = (
    (3, lambda turn: turn.needs == "photo" and turn.query_category == "simple-recognition"),
    (3, lambda turn: turn.needs == "image_kb" and turn.answerable),
    (3, lambda turn: turn.needs == "web" and turn.query_category in PAGE_FACTS and turn.answerable),
    (2, lambda turn: turn.query_category == "comparison" and turn.answerable),
    (2, lambda turn: not turn.answerable),
)
"""How many of which questions: read from the photo, known of the photo, on pages, compared, refused."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One row of the table."""

    photo: str
    turn: AskedTurn
    answer: Answer | None
    failure: str
    mark: str


def main() -> None:
    """Build, start, ask, show. Exits with 1 on a failure, a wrong answer, or too few right ones."""
    console = Console()
    configure_logging("warning")
    sample_world()
    shutil.rmtree(INDEX, ignore_errors=True)
    settings = PocketSettings(port=0, service_port=0, data_dir=INDEX)
    with (
        start_blocking_portal(backend_options={"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(platform(settings)) as running,
    ):
        _index(running, console)
        asked = anyio.run(_ask_all, running.gateway_url, load_world(SAMPLE))
    console.print(_table(asked))
    right, wrong = (sum(row.mark == mark for row in asked) for mark in (RIGHT, WRONG))
    unknown = len(asked) - right - wrong
    console.print(
        f"{len(asked)} questions: {right} as they should be ({RIGHT}), {unknown} not known, though there is"
        f" an answer ({NOT_KNOWN}), {wrong} wrong or failed ({WRONG})."
    )
    console.print(
        "Now try loreglass serve, open http://127.0.0.1:7100 in a browser, and in another terminal:"
    )
    photo, question = SAMPLE / "photos" / asked[0].photo, asked[0].turn.question
    for words in (f"index images {SAMPLE / 'images.jsonl'}", f'ask {photo} "{question}"'):
        console.print(f"    loreglass {words}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(1 if wrong or right < LEAST_RIGHT else 0)


def _index(running: Platform, console: Console) -> None:
    urls = running.service_urls
    photos, pages = SAMPLE / "images.jsonl", SAMPLE / "pages.jsonl"
    if index(ingest_photos, "images", photos, urls["image_search"], replace=False, console=console):
        sys.exit("The photos could not be indexed.")
    if index(ingest_pages, "pages", pages, urls["text_search"], replace=False, console=console):
        sys.exit("The pages could not be indexed.")


def _chosen(world: World) -> list[Conversation]:
    """The first questions of each kind that the demo promises, then two conversations."""
    taken: list[Conversation] = []
    for count, wanted in KINDS:
        fitting = [one for one in world.single if one not in taken and wanted(one.turns[0])]
        taken.extend(fitting[:count])
    return [*taken, *[talk for talk in world.multi if 2 <= len(talk.turns) <= 4][:2]]


async def _ask_all(gateway_url: str, world: World) -> list[Asked]:
    rows: list[Asked] = []
    async with AsyncLoreglass(gateway_url) as client:
        for conversation in track(_chosen(world), description="Asking"):
            rows.extend(await _converse(client, conversation))
    return rows


async def _converse(client: AsyncLoreglass, conversation: Conversation) -> list[Asked]:
    """The photo goes with the first question; the session remembers it for the others."""
    assert conversation.photo is not None  # the world's questions come with photos
    talk = client.conversation(conversation.photo)
    rows: list[Asked] = []
    for turn in conversation.turns:
        try:
            answer = await talk.ask(turn.question)
        except LoreglassError as error:
            rows.append(Asked(conversation.photo.name, turn, None, error.detail, WRONG))
            continue
        rows.append(Asked(conversation.photo.name, turn, answer, "", _mark(turn, answer)))
    return rows


def _mark(turn: AskedTurn, answer: Answer) -> str:
    judged = judge(answer.answer, truth_of(turn), turn.question, turn.gold, abstained=answer.abstained)
    if judged.verdict is (Verdict.CORRECT if turn.answerable else Verdict.MISSING):
        return RIGHT
    return NOT_KNOWN if judged.verdict is Verdict.MISSING else WRONG


def _table(rows: Sequence[Asked]) -> Table:
    table = Table("", "photo", "question", "answer", "route", "sources", "ms", show_lines=True)
    for row in rows:
        table.add_row(row.mark, row.photo, *_cells(row))
    return table


def _cells(row: Asked) -> Iterator[str]:
    yield escape(row.turn.question)
    if row.answer is None:
        yield f"[red]{escape(row.failure)}[/red]"
        yield from ("", "", "")
        return
    yield escape(row.answer.answer)
    yield row.answer.route.value
    yield escape("\n".join(dict.fromkeys(citation.title for citation in row.answer.citations)))
    yield f"{row.answer.timings_ms.get('total', 0):.0f}"
