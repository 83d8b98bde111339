"""One question's whole way through a published pipeline, on a terminal.

    python -m tests.vlm_server.walkthrough three-step
    python -m tests.vlm_server.walkthrough wiki-prf

The real platform in one process, its engines and indexes, with reasoning=vlm against the scripted server:
what the model was asked and said, the stages, what each came to, and the answer with its sources.
"""

import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from chassis.telemetry.logs import configure_logging
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.one_process import platform
from deploy.settings import PocketSettings
from loreglass_client import AsyncLoreglass
from loreglass_client.models import Answer, Experiment, Trace
from tests.vlm_server.replies import Says, says
from tests.vlm_server.server import RunningServer, ScriptedRequest, vlm_server
from tests.vlm_server.small_world import HEIGHT, LIGHTHOUSE, QUESTION, photo, write_world

DEADLINE_MS = 60_000

_QUERIES = {1: f"{LIGHTHOUSE} height", 2: "poster lighthouse island", 3: f"{LIGHTHOUSE} height"}
_PLAN = f"""<think>The title names the tower; its height is on no poster.</think>
<tool>
1. grounding: the poster on the wall
2. caption: A poster that says {LIGHTHOUSE}.
3. flip
</tool>"""
_KNOWLEDGE = f"<think>Only the page about the tower counts.</think>\n<answer>{HEIGHT}</answer>"
_ANSWER = f"{LIGHTHOUSE} is 31 metres tall."


def _query(request: ScriptedRequest) -> str:
    return json.dumps({"query": _QUERIES[request.body["seed"]]})


def _ranking(request: ScriptedRequest) -> str:
    """The piece that tells the height, wherever it stands; and one that is not there."""
    before, _, _ = request.text.partition(HEIGHT)
    return json.dumps({"relevant": [before.count("<<<piece "), 77]})


SCRIPTS: dict[str, Mapping[str, Callable[[ScriptedRequest], str]]] = {
    "three-step": {"sample_query": _query, "rank_evidence": _ranking, "answer_briefly": lambda _: _ANSWER},
    "wiki-prf": {
        "plan_tools": lambda _: _PLAN,
        "describe_photo": lambda _: f"A printed poster with the words {LIGHTHOUSE}, a tower on an island.",
        "filter_knowledge": lambda _: _KNOWLEDGE,
        "answer_from_knowledge": lambda _: _ANSWER,
    },
}


@dataclass(slots=True)
class ModelCall:
    """One call as the server saw it, with what it replied."""

    request: ScriptedRequest
    reply: str


@dataclass(slots=True)
class Walk:
    """All there is to see of one question."""

    answer: Answer
    trace: Trace
    calls: list[ModelCall] = field(default_factory=list)


async def walk(pipeline: str, folder: Path) -> Walk:
    """Index the small world in `folder`, ask the question, and hand back everything."""
    calls: list[ModelCall] = []
    script = SCRIPTS[pipeline]

    def reply(request: ScriptedRequest) -> Says:
        calls.append(ModelCall(request, script[request.name](request)))
        return says(calls[-1].reply, probability=0.97)

    explain = Experiment(explain=True, model_calls=True)
    async with (
        vlm_server(reply) as server,
        _platform_before(server, folder) as url,
        AsyncLoreglass(url) as client,
    ):
        answer = await client.ask(
            QUESTION, photo(), deadline_ms=DEADLINE_MS, pipeline=pipeline, experiment=explain
        )
        return Walk(answer, await client.trace(answer.trace_id), calls)


@asynccontextmanager
async def _platform_before(server: RunningServer, folder: Path) -> AsyncIterator[str]:
    await anyio.to_thread.run_sync(write_world, folder)
    chosen = {"REASONING": "vlm", "VLM_URL": server.url, "VLM_MODEL": server.model, "EXPERIMENTS": "true"}
    settings = PocketSettings(port=0, service_port=0, data_dir=folder / "data", log_level="warning")
    with _environment({f"LOREGLASS_GATEWAY_{name}": value for name, value in chosen.items()}):
        async with platform(settings) as running:
            urls, options = running.service_urls, IngestOptions()
            await ingest_photos(folder / "images.jsonl", urls["image_search"], options)
            await ingest_pages(folder / "pages.jsonl", urls["text_search"], options)
            yield running.gateway_url


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def show(walked: Walk, console: Console) -> None:
    """All of it, in the order of things."""
    console.print(Text(f"{QUESTION}\n", "bold"))
    _show_calls(walked.calls, console)
    console.print(_stages(walked.trace))
    explanation = walked.answer.explanation
    notes = Table("stage", "came to", title="What the stages came to", show_lines=True, expand=True)
    for note in explanation.notes if explanation else ():
        notes.add_row(note.stage, escape(note.text))
    console.print(notes)
    console.print(_sources(walked.answer))


def _show_calls(calls: list[ModelCall], console: Console) -> None:
    """Each call's task and reply, whole; a task that was shown before is not shown again."""
    seen: set[str] = set()
    for call in calls:
        task = "TASK" + call.request.text.rpartition("TASK")[2]
        console.rule(f"{call.request.name} · {_drawn(call.request.body)}", align="left")
        console.print(Text("(the same task)" if task in seen else task))
        console.print(Text(f"\n→ {call.reply}\n", "bold"))
        seen.add(task)


def _drawn(body: dict[str, Any]) -> str:
    form = "object" if "response_format" in body else "text"
    options = (f"{name} {body.get(name)}" for name in ("temperature", "seed"))
    return " · ".join((form, f"{body['max_tokens']} tokens", *options))


def _stages(trace: Trace) -> Table:
    table = Table("stage", "state", "start ms", "ms", "detail", title=f"Trace {trace.trace_id}", expand=True)
    for stage in trace.stages:
        times = (f"{stage.start_ms:.0f}", f"{stage.ms:.0f}")
        table.add_row(stage.stage, stage.state, *times, escape(stage.detail))
    return table


def _sources(answer: Answer) -> Table:
    table = Table("source", "words", title=escape(answer.answer), show_lines=True, expand=True)
    for citation in answer.citations:
        table.add_row(escape(citation.title), escape(citation.snippet))
    return table


def main() -> None:
    """Walk the pipeline that is named, and show it."""
    if len(sys.argv) != 2 or sys.argv[1] not in SCRIPTS:
        sys.exit(f"Name one of: {', '.join(SCRIPTS)}.")
    configure_logging("warning")
    with tempfile.TemporaryDirectory() as folder:
        walked = anyio.run(walk, sys.argv[1], Path(folder))
    show(walked, Console())


if __name__ == "__main__":
    main()
