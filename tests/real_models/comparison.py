"""Ask the same questions of a model alone and of the platform with that model behind it."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, median

import anyio.to_thread
import httpx

from chassis.http.serving import BoundApp, listen, running
from corpus.cli import index
from corpus.ingest import IngestOptions, ingest_pages
from deploy.one_process import Platform, platform
from deploy.settings import LiteSettings
from evaluation.data.model import Dataset
from evaluation.judging.rule_judge import RuleJudge
from evaluation.record import RunHeader
from evaluation.runs.asking import Asking, unasked
from evaluation.runs.running import ask_several, connect, write_pages
from evaluation.runs.store import Run, RunStore, load_run
from evaluation.scoring.protocols import score_records
from evaluation.scoring.spans import Outcomes, span_scores
from loreglass_client.models import Answer, ModelUsage, Reason, Route
from tests.real_models.recorder import Exchange, Recorder

ALONE = "alone"
"""The model without the platform: one plain prompt with the platform's best passages."""
PASSAGES = 3
_PLAIN = "Answer the question from the passages.\n\n{passages}\n\nQuestion: {question}\nAnswer:"
_ALONE_TOKENS = 96


@dataclass(frozen=True, slots=True)
class System:
    """One system's run. `calls`: the chat requests of this process; those of an earlier one are not kept."""

    name: str
    run: Run
    calls: tuple[Exchange, ...]

    @property
    def outcomes(self) -> Outcomes:
        """Return the rule judge's counts of right, wrong and refused."""
        scored, _ = score_records(self.run.records, self.run.folder, RuleJudge.name)
        return span_scores(scored).outcomes

    @property
    def seconds(self) -> float:
        """The median time of a question."""
        return median(record.client_ms for record in self.run.records) / 1000

    def mean_usage(self, what: str) -> float:
        """The mean of `calls` or `prompt_tokens` over the answers."""
        answers = [record.answer for record in self.run.records if record.answer]
        return mean([getattr(answer.model_usage, what) for answer in answers] or [0])

    @property
    def cached_share(self) -> float:
        """Of the prompts' tokens, the share that the server had in its cache."""
        tokens = sum(call.prompt_tokens for call in self.calls)
        return sum(call.cached_tokens for call in self.calls) / tokens if tokens else 0.0


async def compare(
    model_url: str, dataset: Dataset, systems: Sequence[str], folder: Path, deadline_ms: int
) -> list[System]:
    """Ask every question of every system; the runs are kept below `folder`.

    A comparison that was stopped goes on: what was answered is not asked again.
    """
    asking = Asking(concurrency=1, deadline_ms=deadline_ms, model_calls=True)
    compared = []
    async with _started(model_url, dataset, folder) as (recorder, proxy_url, started):
        for name in systems:
            recorder.take()
            if name == ALONE:
                search_url = started.service_urls["text_search"]
                run = await _run_alone(dataset, folder / ALONE, proxy_url, search_url)
            else:
                async with connect(started.gateway_url) as gateway:
                    (run,) = await ask_several(dataset, folder, [name], asking, gateway, {})
            questions = [record.question for record in run.records]
            compared.append(System(name, run, recorder.take(questions)))
    return compared


@asynccontextmanager
async def _started(
    model_url: str, dataset: Dataset, folder: Path
) -> AsyncIterator[tuple[Recorder, str, Platform]]:
    """Run the recorder and the platform, whose index holds all of the dataset's texts."""
    recorder = Recorder(model_url)
    proxy = BoundApp(recorder.app(), listen("127.0.0.1", 0))
    settings = LiteSettings(
        port=0, service_port=0, data_dir=folder / "index", model=f"{proxy.url}/v1", log_level="error"
    )
    async with running([proxy]), platform(settings) as started:
        pages = write_pages(dataset.texts, folder)
        options = IngestOptions(replace=True)
        put = partial(index, ingest_pages, "pages", pages, started.service_urls["text_search"], options)
        if await anyio.to_thread.run_sync(put):
            raise RuntimeError("The paragraphs could not be indexed.")
        yield recorder, proxy.url, started


async def _run_alone(dataset: Dataset, folder: Path, model_url: str, search_url: str) -> Run:
    header = RunHeader(name=ALONE, dataset=dataset.name, fingerprint=dataset.fingerprint)
    with RunStore(folder, header) as store:
        done = {record.interaction_id for record in store.records}
        async with httpx.AsyncClient(timeout=None) as http:
            for place, conversation in enumerate(dataset.conversations):
                record = unasked(conversation, place, 0)
                if record.interaction_id not in done:
                    began = time.monotonic()
                    answer = await _ask_alone(http, model_url, search_url, record.question)
                    ms = round((time.monotonic() - began) * 1000, 2)
                    store.add(record.model_copy(update={"answer": answer, "client_ms": ms}))
    return load_run(folder)


async def _ask_alone(http: httpx.AsyncClient, model_url: str, search_url: str, question: str) -> Answer:
    """Return the model's answer to one plain prompt with the best passages."""
    response = await http.post(f"{search_url}/v1/text-search", json={"queries": [question], "k": PASSAGES})
    passages = (f"{hit['title']}\n{hit['snippet']}" for hit in response.json()["hits"])
    prompt = _PLAIN.format(passages="\n\n".join(passages), question=question)
    body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": _ALONE_TOKENS}
    reply = (await http.post(f"{model_url}/v1/chat/completions", json=body)).json()
    return Answer(
        answer=reply["choices"][0]["message"]["content"] or "",
        abstained=False,
        reason=Reason.ANSWERED,
        confidence=None,
        route=Route.RAG,
        trace_id="",
        session_id="",
        model_usage=ModelUsage(calls=1, prompt_tokens=reply["usage"]["prompt_tokens"]),
    )
