"""Experiments and carried conversations by the Python client and the command line."""

from io import StringIO
from pathlib import Path

from rich.console import Console

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
)
from tests.unit.clients.test_ask_command import ask
from tests.unit.clients.test_client import BODY
from tests.unit.gateway.fakes import AUTHOR, FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, gateway_before

EXPLAIN = Experiment(explain=True, thresholds={"judged": 0.25})


async def test_experiment_is_sent_in_every_form(anyio_backend: object) -> None:
    async with gateway_before(FakeServices(), experiments=True) as world, AsyncLoreglass(world.url) as client:
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


async def test_command_line_explains_an_answer(tmp_path: Path, anyio_backend: object) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(PHOTO)
    async with gateway_before(FakeServices(), experiments=True) as world:
        explained = await ask(world.url, str(photo), QUESTION, "--explain", "--pipeline", "loreglass")
        plain = await ask(world.url, str(photo), QUESTION)
        unknown = await ask(world.url, str(photo), QUESTION, "--pipeline", "unknown_pipeline")
    async with gateway_before(FakeServices(), experiments=False) as world:
        refused = await ask(world.url, str(photo), QUESTION, "--explain")
    assert [each.exit_code for each in (explained, plain, unknown, refused)] == [0, 0, 1, 1]
    for words in ("answer_confidence", "evidence_top", "select_entity", AUTHOR, "tau_fine"):
        assert words in explained.output
    assert "answer_confidence" not in plain.output
    assert "LOREGLASS_GATEWAY_EXPERIMENTS" in refused.output.replace("\n", "")


def test_untrusted_text_does_not_control_the_terminal() -> None:
    hostile = "[red]\x1b[2J\x1b]0;owned\x07\u202e\u009b31m[/nothing]"
    citation = Citation(title=hostile, url=hostile, snippet=hostile, score=1, kind=CitationKind.PAGE)
    answer = Answer.model_validate(
        BODY | {"answer": hostile, "citations": [citation], "degraded": [hostile], "session_id": hostile}
    )
    evidence = EvidenceSeen(text=hostile, title=hostile, url="", kind=CitationKind.PAGE, score=0.5)
    notes = [Note(stage=hostile, text=hostile)]
    explanation = Explanation(
        draft=hostile, proposed=hostile, signals={hostile: 0.5}, evidence=[evidence], notes=notes
    )
    written = StringIO()
    console = Console(file=written, width=120)
    show_answer(answer, console)
    show_explanation(explanation, console)
    shown = written.getvalue()
    assert "[red]" in shown
    assert not {"\x1b", "\x07", "\u202e", "\u009b"} & set(shown)
