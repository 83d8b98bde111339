"""Experiments and carried conversations by the Python client and the command line."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from io import StringIO
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from rich.console import Console
from typer.testing import CliRunner

from clients.cli import app
from clients.showing import show_answer, show_explanation
from loreglass_client import AsyncLoreglass
from loreglass_client.models import (
    Answer,
    Citation,
    CitationKind,
    EvidenceSeen,
    Experiment,
    Explanation,
    Note,
    Reason,
    Route,
)
from tests.unit.gateway.fakes import AUTHOR, FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before

EXPLAIN = Experiment(explain=True, thresholds={"judged": 0.25})


@asynccontextmanager
async def connected(*, experiments: bool = True) -> AsyncIterator[tuple[AsyncLoreglass, World]]:
    async with (
        gateway_before(FakeServices(), experiments=experiments) as world,
        AsyncLoreglass(world.url) as client,
    ):
        yield client, world


async def test_experiment_is_sent_in_every_form(anyio_backend: object) -> None:
    async with connected() as (client, _):
        in_form = await client.ask(QUESTION, PHOTO, experiment=EXPLAIN)
        in_json = await client.ask(QUESTION, session_id=in_form.session_id, experiment=EXPLAIN)
        in_chat = await client.ask_in([], QUESTION, PHOTO, "loreglass", experiment=EXPLAIN)
        *_, streamed = [event async for event in client.stream(QUESTION, PHOTO, experiment=EXPLAIN)]
        plain = await client.ask(QUESTION, PHOTO)
    assert isinstance(streamed, Answer)
    for answer in (in_form, in_json, in_chat, streamed):
        assert answer.explanation is not None
        assert answer.explanation.thresholds["judged"] == 0.25
    assert plain.explanation is None


# The command line


@contextmanager
def in_background(*, experiments: bool) -> Iterator[World]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(gateway_before(FakeServices(), experiments=experiments)) as world,
    ):
        yield world


def command(world: World, folder: Path, *options: str) -> "tuple[int, str]":
    photo = folder / "photo.jpg"
    photo.write_bytes(PHOTO)
    arguments = ["ask", str(photo), QUESTION, "--gateway", world.url, *options]
    done = CliRunner(env={"COLUMNS": "160"}).invoke(app, arguments)
    return done.exit_code, done.output


def test_command_line_explains_an_answer(tmp_path: Path) -> None:
    with in_background(experiments=True) as world:
        code, shown = command(world, tmp_path, "--explain", "--pipeline", "loreglass")
        plain = command(world, tmp_path)
        unknown = command(world, tmp_path, "--pipeline", "nobody")
    assert code == 0, shown
    for words in ("answer_confidence", "evidence_top", "select_entity", AUTHOR, "tau_fine"):
        assert words in shown
    assert "answer_confidence" not in plain[1]
    assert unknown[0] == 1
    with in_background(experiments=False) as world:
        code, shown = command(world, tmp_path, "--explain")
    assert code == 1
    assert "LOREGLASS_GATEWAY_EXPERIMENTS" in shown.replace("\n", "")


def test_untrusted_text_does_not_control_the_terminal() -> None:
    hostile = "[red]\x1b[2J\x1b]0;owned\x07\u202e\u009b31m[/nothing]"
    citation = Citation(title=hostile, url=hostile, snippet=hostile, score=1, kind=CitationKind.PAGE)
    answer = Answer(
        answer=hostile,
        abstained=False,
        reason=Reason.ANSWERED,
        confidence=0.5,
        route=Route.RAG,
        citations=[citation],
        degraded=[hostile],
        trace_id="t",
        session_id=hostile,
    )
    explanation = Explanation(
        draft=hostile,
        proposed=hostile,
        signals={hostile: 0.5},
        evidence=[EvidenceSeen(text=hostile, title=hostile, url="", kind=CitationKind.PAGE, score=0.5)],
        notes=[Note(stage=hostile, text=hostile)],
    )
    written = StringIO()
    console = Console(file=written, width=120)
    show_answer(answer, console)
    show_explanation(explanation, console)
    shown = written.getvalue()
    assert "[red]" in shown
    assert not {"\x1b", "\x07", "\u202e", "\u009b"} & set(shown)
