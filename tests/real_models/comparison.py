"""Ask the same questions of a model alone and of the platform with that model behind it."""

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio.to_thread
import httpx

from chassis.http.serving import BoundApp, listen, running
from corpus.cli import index
from corpus.ingest import IngestOptions, ingest_pages
from deploy.one_process import Platform, platform
from deploy.settings import PocketSettings
from evaluation.data.model import AskedTurn, Dataset
from evaluation.judging.rule_judge import judge
from evaluation.judging.verdicts import Verdict
from evaluation.runs.running import write_pages
from loreglass_client import AsyncLoreglass, LoreglassError
from loreglass_client.models import Experiment
from tests.real_models.recorder import Exchange, Recorder

ALONE = "alone"
"""The model without the platform: one plain prompt with the platform's best passages."""
PASSAGES = 3
_PLAIN = "Answer the question from the passages.\n\n{passages}\n\nQuestion: {question}\nAnswer:"
_ALONE_TOKENS = 96
_OUTCOMES = {Verdict.CORRECT: "right", Verdict.MISSING: "refused", Verdict.INCORRECT: "wrong"}


@dataclass(frozen=True, slots=True)
class Row:
    """What one system said to one question. `outcome`: right, wrong, refused or failed."""

    system: str
    id: str
    question: str
    gold: tuple[str, ...]
    answerable: bool
    answer: str
    outcome: str
    seconds: float
    calls: tuple[Exchange, ...]
    reason: str = ""
    refused_by: str = ""
    confidence: float | None = None
    degraded: Sequence[str] = ()
    proposed: str = ""
    evidence: Sequence[str] = ()
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowFile:
    """Rows as JSON lines."""

    path: Path

    def read(self) -> list[Row]:
        """Return the rows that are kept; none if there is no file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [_row(json.loads(line)) for line in lines]

    def append(self, row: Row) -> None:
        """Keep a row."""
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(row)) + "\n")


@dataclass(frozen=True, slots=True)
class Tally:
    """One line of the table. `first_word_s`, `seconds`: medians; tokens: means of a question."""

    system: str
    answerable: int
    unanswerable: int
    right: int
    wrong: int
    refused: int
    unanswerable_answered: int
    seconds: float
    calls: float
    prompt_tokens: float
    cached_tokens: float


async def compare(
    model_url: str,
    dataset: Dataset,
    systems: Sequence[str],
    folder: Path,
    deadline_ms: int,
    progress: Callable[[Row], object],
) -> list[Row]:
    """Ask every question of every system and return the rows, which `folder` keeps as JSON lines.

    A comparison that was stopped goes on: what `folder` has is not asked again.
    """
    kept = RowFile(folder / "rows.jsonl")
    rows = kept.read()
    done = {(row.system, row.id) for row in rows}
    http = httpx.AsyncClient(timeout=None)
    async with _started(model_url, dataset, folder) as (recorder, proxy_url, started), http:
        search_url = started.service_urls["text_search"]
        for system in systems:
            for conversation in dataset.conversations:
                turn = conversation.turns[0]
                if (system, turn.interaction_id) in done:
                    continue
                recorder.take()
                began = time.monotonic()
                if system == ALONE:
                    answer, passages = await ask_alone(http, proxy_url, search_url, turn.question)
                    said: dict[str, Any] = {"answer": answer, "evidence": passages}
                else:
                    said = await _ask_platform(started.gateway_url, system, deadline_ms, turn)
                row = _judged(system, turn, time.monotonic() - began, recorder.take(turn.question), said)
                kept.append(row)
                rows.append(row)
                progress(row)
    return rows


def tally(rows: Sequence[Row], systems: Sequence[str]) -> list[Tally]:
    """Count the outcomes of each system."""
    return [_tally(system, [row for row in rows if row.system == system]) for system in systems]


def _tally(system: str, rows: Sequence[Row]) -> Tally:
    answerable = [row for row in rows if row.answerable]
    unanswerable = [row for row in rows if not row.answerable]
    calls = [call for row in rows for call in row.calls]
    outcomes = [row.outcome for row in answerable]
    return Tally(
        system=system,
        answerable=len(answerable),
        unanswerable=len(unanswerable),
        right=outcomes.count("right"),
        wrong=outcomes.count("wrong"),
        refused=outcomes.count("refused") + outcomes.count("failed"),
        unanswerable_answered=sum(row.outcome == "wrong" for row in unanswerable),
        seconds=median([row.seconds for row in rows] or [0.0]),
        calls=len(calls) / max(len(rows), 1),
        prompt_tokens=sum(call.prompt_tokens for call in calls) / max(len(rows), 1),
        cached_tokens=sum(call.cached_tokens for call in calls) / max(len(rows), 1),
    )


@asynccontextmanager
async def _started(
    model_url: str, dataset: Dataset, folder: Path
) -> AsyncIterator[tuple[Recorder, str, Platform]]:
    """Run the recorder and the platform, whose index holds all of the dataset's texts."""
    recorder = Recorder(model_url)
    proxy = BoundApp(recorder.app(), listen("127.0.0.1", 0))
    settings = PocketSettings(
        port=0, service_port=0, data_dir=folder / "index", model=f"{proxy.url}/v1", log_level="error"
    )
    async with running([proxy]), platform(settings) as started:
        pages = write_pages(dataset.texts, folder)
        options = IngestOptions(replace=True)
        put = partial(index, ingest_pages, "pages", pages, started.service_urls["text_search"], options)
        if await anyio.to_thread.run_sync(put):
            raise RuntimeError("The paragraphs could not be indexed.")
        yield recorder, proxy.url, started


async def ask_alone(
    http: httpx.AsyncClient, model_url: str, search_url: str, question: str
) -> tuple[str, tuple[str, ...]]:
    """Return the model's answer to one plain prompt, and the passages in it."""
    found = await http.post(f"{search_url}/v1/text-search", json={"queries": [question], "k": PASSAGES})
    passages = tuple(f"{hit['title']}\n{hit['snippet']}" for hit in found.json()["hits"])
    prompt = _PLAIN.format(passages="\n\n".join(passages), question=question)
    body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": _ALONE_TOKENS}
    reply = await http.post(f"{model_url}/v1/chat/completions", json=body)
    return reply.json()["choices"][0]["message"]["content"] or "", passages


async def _ask_platform(url: str, pipeline: str, deadline_ms: int, turn: AskedTurn) -> dict[str, Any]:
    async with AsyncLoreglass(url, timeout_s=deadline_ms / 1000 + 60) as client:
        experiment = Experiment(explain=True)
        try:
            answer = await client.ask(
                turn.question, pipeline=pipeline, deadline_ms=deadline_ms, experiment=experiment
            )
        except LoreglassError as error:
            return {"answer": "", "failed": True, "reason": error.detail}
        trace = await client.trace(answer.trace_id)
    seen = answer.explanation
    return {
        "answer": answer.answer,
        "abstained": answer.abstained,
        "reason": answer.reason.value,
        "refused_by": trace.refused_by or "",
        "confidence": answer.confidence,
        "degraded": tuple(answer.degraded),
        "proposed": (seen.proposed or "") if seen else "",
        "evidence": tuple(each.text for each in seen.evidence) if seen else (),
        "signals": dict(seen.signals) if seen else {},
    }


def _judged(
    system: str, turn: AskedTurn, seconds: float, calls: tuple[Exchange, ...], said: dict[str, Any]
) -> Row:
    assert turn.truth is not None  # every question of this format has one
    failed, abstained = said.pop("failed", False), said.pop("abstained", False)
    judged = judge(said["answer"], turn.truth, turn.question, turn.gold, abstained=abstained)
    return Row(
        system=system,
        id=turn.interaction_id,
        question=turn.question,
        gold=turn.truth.accepted,
        answerable=turn.answerable,
        outcome="failed" if failed else _OUTCOMES[judged.verdict],
        seconds=round(seconds, 2),
        calls=calls,
        **said,
    )


def _row(kept: dict[str, Any]) -> Row:
    calls = tuple(Exchange(**call) for call in kept.pop("calls"))
    return Row(**kept, calls=calls)
