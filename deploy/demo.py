"""`loreglass demo`: index the sample, start the platform, ask it questions, print a table of answers."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from chassis.telemetry.logs import configure_logging
from corpus.cli import index
from corpus.ingest import ingest_pages, ingest_photos
from deploy.one_process import Platform, started_platform
from deploy.sample import SAMPLE
from deploy.settings import VAR, PocketSettings
from evaluation.data.model import AskedTurn, Conversation
from evaluation.data.world import World, load_world, truth_of
from evaluation.judging.port import Verdict
from evaluation.judging.rules import judge
from loreglass_client import Answer, AsyncLoreglass, LoreglassError
from loreglass_client.errors import DeadlineExceeded, NotReady, Overloaded

INDEX = VAR / "demo"
RIGHT, NOT_KNOWN, WRONG = "✓", "?", "✗"
DEADLINE_MS = 60_000
"""The longest that the gateway allows: a slow machine is no failure of the demo."""
READY_CHECKS = 30
"""The demo asks once a second whether the platform is ready, at most this many times."""

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
    """Build, start, ask, show. Exits with 1 if the platform is not ready, or if a question fails."""
    console = Console()
    configure_logging("warning")
    shutil.rmtree(INDEX, ignore_errors=True)
    settings = PocketSettings(port=0, service_port=0, data_dir=INDEX)
    with started_platform(settings) as running:
        _index(running, console)
        try:
            rows = anyio.run(_ask_all, running.gateway_url, load_world(SAMPLE))
        except LoreglassError as error:
            sys.exit(f"The platform did not become ready: {error.detail} Run the demo again.")
    console.print(_table(rows))
    for line in summary(rows):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in next_steps(rows[0], loreglass_command()):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    sys.exit(any(row.mark == WRONG for row in rows))


def summary(rows: Sequence[Asked]) -> Iterator[str]:
    """Yield the counts, then a line for each question that failed."""
    right, unknown, wrong = (sum(row.mark == mark for row in rows) for mark in (RIGHT, NOT_KNOWN, WRONG))
    yield (
        f"{len(rows)} questions: {right} correct ({RIGHT}), {unknown} not answered ({NOT_KNOWN}),"
        f" {wrong} wrong or failed ({WRONG})."
    )
    for row in rows:
        if row.mark == WRONG:
            yield f'{WRONG} {row.photo}, "{row.turn.question}": {row.failure}'


def next_steps(first: Asked, command: str) -> Iterator[str]:
    """Yield the commands to try next; each works as printed."""
    sample = SAMPLE.relative_to(Path.cwd()) if SAMPLE.is_relative_to(Path.cwd()) else SAMPLE
    photo = sample / "photos" / first.photo
    yield "Start the platform, then open http://127.0.0.1:7100 in a browser:"
    yield f"    {command} serve"
    yield "In another terminal, index the sample and ask about one of its photos:"
    yield f"    {command} index images {sample / 'images.jsonl'}"
    yield f"    {command} index pages {sample / 'pages.jsonl'}"
    yield f'    {command} ask {photo} "{first.turn.question}"'


def loreglass_command() -> str:
    """Return how to call `loreglass` from this folder: by name, by its path, or as a module."""
    if shutil.which("loreglass"):
        return "loreglass"
    script, here = Path(sys.executable).with_name("loreglass"), Path.cwd()
    if not script.is_file():
        return f"{sys.executable} -m loreglass"
    return str(script.relative_to(here) if script.is_relative_to(here) else script)


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
        await until_ready(client)
        for conversation in track(_chosen(world), description="Asking"):
            rows.extend(await _converse(client, conversation))
    return rows


async def until_ready(client: AsyncLoreglass, pause_s: float = 1.0) -> None:
    """Wait until the gateway says that it is ready. Raises its last error after `READY_CHECKS` tries."""
    for _ in range(READY_CHECKS - 1):
        try:
            await client.ready()
        except (NotReady, DeadlineExceeded):
            await anyio.sleep(pause_s)
        else:
            return
    await client.ready()


async def _converse(client: AsyncLoreglass, conversation: Conversation) -> list[Asked]:
    """Ask every question of a conversation; the photo goes with the first one."""
    assert conversation.photo is not None  # all questions of the sample have one
    talk = client.conversation(conversation.photo)
    rows: list[Asked] = []
    for turn in conversation.turns:
        try:
            row = judged(
                conversation.photo.name, turn, await talk.ask(turn.question, deadline_ms=DEADLINE_MS)
            )
        except LoreglassError as error:
            row = failed(conversation.photo.name, turn, error)
        rows.append(row)
    return rows


def judged(photo: str, turn: AskedTurn, answer: Answer) -> Asked:
    """Return the row of an answer. A refusal is not wrong; an answer must be right and cite a source."""
    found = judge(answer.answer, truth_of(turn), turn.question, turn.gold, abstained=answer.abstained)
    if found.verdict is Verdict.MISSING:
        return Asked(photo, turn, answer, "", NOT_KNOWN if turn.answerable else RIGHT)
    if found.verdict is not Verdict.CORRECT:
        return Asked(photo, turn, answer, f"The answer is wrong: {answer.answer}", WRONG)
    if not answer.citations:
        return Asked(photo, turn, answer, f"The answer cites no source: {answer.answer}", WRONG)
    return Asked(photo, turn, answer, "", RIGHT)


def failed(photo: str, turn: AskedTurn, error: LoreglassError) -> Asked:
    """Return the row of a request that failed. Too little time is not a fault of the platform."""
    slow = isinstance(error, (DeadlineExceeded, Overloaded))
    return Asked(photo, turn, None, error.detail, NOT_KNOWN if slow else WRONG)


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
