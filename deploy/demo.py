"""`loreglass demo`: index photographs and pages about them, start the platform, ask, print the answers."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from chassis.telemetry.logs import configure_logging
from corpus.cli import index
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.one_process import Platform, started_platform
from deploy.photographs import PAGES, Question, Talk, write_photographs
from deploy.settings import VAR, LiteSettings
from loreglass_client import Answer, AsyncLoreglass, LoreglassError
from loreglass_client.errors import DeadlineExceeded, NotReady, Overloaded

INDEX = VAR / "demo"
RIGHT, NOT_KNOWN, WRONG = "✓", "?", "✗"
DEADLINE_MS = 60_000
"""The longest that the gateway allows: a slow machine is no failure of the demo."""
READY_CHECKS = 30
"""The demo asks once a second whether the platform is ready, at most this many times."""


@dataclass(frozen=True, slots=True)
class Outcome:
    photo: Path
    question: Question
    answer: Answer | None
    failure: str
    mark: str


def main() -> None:
    """Build, start, ask, show. Exits with 1 if the platform is not ready, or if a question fails."""
    console = Console()
    configure_logging("warning")
    shutil.rmtree(INDEX, ignore_errors=True)
    photos, talks = write_photographs(INDEX / "photographs")
    settings = LiteSettings(port=0, service_port=0, data_dir=INDEX)
    with started_platform(settings) as running:
        _index(running, photos, console)
        try:
            rows = anyio.run(_ask_all, running.gateway_url, talks)
        except LoreglassError as error:
            sys.exit(f"The platform did not become ready: {error.detail} Run the demo again.")
    console.print(_table(rows))
    for line in summary(rows):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in next_steps(photos, rows[0], loreglass_command()):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    sys.exit(any(row.mark == WRONG for row in rows))


def summary(rows: Sequence[Outcome]) -> Iterator[str]:
    """Yield the counts, then a line for each question that failed."""
    right, unknown, wrong = (sum(row.mark == mark for row in rows) for mark in (RIGHT, NOT_KNOWN, WRONG))
    yield (
        f"{len(rows)} questions: {right} correct ({RIGHT}), {unknown} not answered ({NOT_KNOWN}),"
        f" {wrong} wrong or failed ({WRONG})."
    )
    for row in rows:
        if row.mark == WRONG:
            yield f'{WRONG} {row.photo.name}, "{row.question.text}": {row.failure}'


def next_steps(photos: Path, first: Outcome, command: str) -> Iterator[str]:
    """Yield the commands to try next; each works as printed."""
    yield "Start the platform, then open http://127.0.0.1:7100 in a browser:"
    yield f"    {command} serve"
    yield "In another terminal, index these photographs and pages, or folders of your own, and ask:"
    yield f"    {command} index images {_short(photos)}"
    yield f"    {command} index pages {_short(PAGES)}"
    yield f'    {command} ask {_short(first.photo)} "{first.question.text}"'


def _short(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def loreglass_command() -> str:
    """Return how to call `loreglass` from this folder: by name, or by its path."""
    if shutil.which("loreglass"):
        return "loreglass"
    return str(_short(Path(sys.executable).with_name("loreglass")))


def _index(running: Platform, photos: Path, console: Console) -> None:
    urls = running.service_urls
    put = partial(index, options=IngestOptions(name="demo"), console=console)
    if put(ingest_photos, "images", photos, urls["image_search"]):
        sys.exit("The photos could not be indexed.")
    if put(ingest_pages, "pages", PAGES, urls["text_search"]):
        sys.exit("The pages could not be indexed.")


async def _ask_all(gateway_url: str, talks: Sequence[Talk]) -> list[Outcome]:
    rows: list[Outcome] = []
    async with AsyncLoreglass(gateway_url) as client:
        await until_ready(client)
        for talk in track(talks, description="Asking"):
            rows.extend(await _converse(client, talk))
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


async def _converse(client: AsyncLoreglass, talk: Talk) -> list[Outcome]:
    """Ask every question about a photograph, which goes with the first one."""
    conversation = client.conversation(talk.photo)
    rows: list[Outcome] = []
    for question in talk.questions:
        try:
            answer = await conversation.ask(question.text, deadline_ms=DEADLINE_MS)
        except LoreglassError as error:
            rows.append(failure_of(talk.photo, question, error))
        else:
            rows.append(judge(talk.photo, question, answer))
    return rows


def judge(photo: Path, question: Question, answer: Answer) -> Outcome:
    """Return the row of an answer. A refusal is not wrong; an answer must be right and cite a source."""
    if answer.abstained:
        return Outcome(photo, question, answer, "", NOT_KNOWN if question.accepted else RIGHT)
    if not any(each.casefold() in answer.answer.casefold() for each in question.accepted):
        return Outcome(photo, question, answer, f"The answer is wrong: {answer.answer}", WRONG)
    if not answer.citations:
        return Outcome(photo, question, answer, f"The answer cites no source: {answer.answer}", WRONG)
    return Outcome(photo, question, answer, "", RIGHT)


def failure_of(photo: Path, question: Question, error: LoreglassError) -> Outcome:
    """Return the row of a request that failed. Too little time is not a fault of the platform."""
    slow = isinstance(error, (DeadlineExceeded, Overloaded))
    return Outcome(photo, question, None, error.detail, NOT_KNOWN if slow else WRONG)


def _table(rows: Sequence[Outcome]) -> Table:
    table = Table("", "photo", "question", "answer", "source", "ms", show_lines=True)
    for row in rows:
        table.add_row(row.mark, row.photo.name, *_cells(row))
    return table


def _cells(row: Outcome) -> Iterator[str]:
    yield escape(row.question.text)
    if row.answer is None:
        yield f"[red]{escape(row.failure)}[/red]"
        yield from ("", "")
        return
    closest = row.answer.closest
    yield escape(row.answer.answer + (f"\nThe closest I found: “{closest.sentence}”" if closest else ""))
    titles = [citation.title for citation in row.answer.citations] or ([closest.title] if closest else [])
    yield escape("\n".join(dict.fromkeys(titles)))
    yield f"{row.answer.timings_ms.get('total', 0):.0f}"
