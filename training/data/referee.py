"""Judge answers and search results, and reword labels.

Each judgement is stored in the data set's folder at once, so that an interrupted build asks nothing twice.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

import anyio
from pydantic import Field

from chassis.errors import LoreglassError
from chassis.http.calls import http_client
from chassis.http.client import Endpoint
from chassis.resilience.deadlines import Deadline
from evaluation.data.model import Truth, is_answerable
from evaluation.judging.model_judge import JudgeSettings
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import says
from evaluation.judging.verdicts import Case, Judge, Judgement, Verdict
from gateway.llm.client import VlmClient
from gateway.llm.prompt import Prompt, TextPart
from gateway.llm.schemas import Structured

MEMORY = "judgements.jsonl"
LONGEST_LABEL_WORDS = 50
"""BlackPearl, figure 5."""
_PATIENCE_MS = 120_000
_VERSION = 1


class NoJudgement(Exception):
    """The judge gave no usable reply; asking again may help."""


@dataclass(frozen=True, slots=True)
class Need:
    """The question that results should help with. `search`: the search query, which needs no context."""

    question: str
    search: str
    gold: str
    truth: Truth | None


class Referee:
    """A judge of answers, and rules for the rest. As a context it stores judgements in the folder.

    `at_once`: questions to the judge at a time.
    """

    def __init__(self, judge: Judge, folder: Path, at_once: int = 4) -> None:
        self._judge = judge
        self._path = folder / MEMORY
        self._entries = _read(self._path)
        self._slots = anyio.CapacityLimiter(at_once)
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        content = self._path.read_bytes() if self._path.exists() else b""
        self._file = self._path.open("a", encoding="utf-8", newline="\n")
        if content and not content.endswith(b"\n"):
            self._file.write("\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def name(self) -> str:
        """Return the judge's name. Judgements are stored by it, so that judges are not mixed up."""
        return self._judge.name

    async def verdict(self, case: Case) -> Judgement:
        """Return whether the answer is right. Raises `NoJudgement`."""
        parts = [case.question, case.gold, case.answer, case.abstained, _as_json(case.truth)]

        async def ask() -> dict[str, Any]:
            judgement = await self._judge.judge(case)
            if judgement.failed:
                raise NoJudgement(judgement.why)
            return {"verdict": judgement.verdict.value, "why": judgement.why}

        judgement = await self._remembered("verdict", parts, ask)
        return Judgement(Verdict(judgement["verdict"]), judgement["why"])

    async def helps(self, need: Need, piece: str) -> bool:
        """Return whether a result helps to answer (BlackPearl, 3.3 and figure 7). Raises `NoJudgement`."""
        parts = [need.question, need.search, need.gold, _as_json(need.truth), piece]
        return bool(await self._remembered("helps", parts, lambda: self._marked(need, piece)))

    async def rewordings(self, question: str, gold: str, count: int) -> list[str]:
        """Return other wordings of an answer (BlackPearl, 2.2 and figure 5). Raises `NoJudgement`."""
        wordings: list[str] = await self._remembered(
            "rewordings", [question, gold, count], lambda: self._reworded(question, gold, count)
        )
        return wordings

    async def _marked(self, need: Need, piece: str) -> bool:
        """Return whether the piece contains an accepted answer; False if there is no answer."""
        if not is_answerable(need.truth):
            return False
        if need.truth and need.truth.accepted:
            return says(piece, need.truth.accepted)
        return judge_by_rules(Case("", need.question, need.gold, piece)).verdict is Verdict.CORRECT

    async def _reworded(self, question: str, gold: str, count: int) -> list[str]:
        """Return nothing: rewording needs a model."""
        return []

    async def _remembered(self, kind: str, parts: list[Any], ask: Callable[[], Awaitable[Any]]) -> Any:
        request = json.dumps([_VERSION, self.name, kind, *parts], ensure_ascii=False)
        key = hashlib.sha256(request.encode("utf-8", "replace")).hexdigest()
        async with self._slots:
            if key not in self._entries:
                self._entries[key] = await ask()
                if self._file is not None:
                    self._file.write(json.dumps({"key": key, "said": self._entries[key]}) + "\n")
                    self._file.flush()
        return self._entries[key]


def _as_json(truth: Truth | None) -> dict[str, Any] | None:
    return truth.model_dump(mode="json", exclude=truth.unkeyed) if truth else None


class Relevance(Structured):
    """The relevance of one result."""

    helps: bool = Field(description="true if the result says something that the answer needs")


class Rewordings(Structured):
    """Rewordings of the answer."""

    answers: list[str] = Field(description="one answer each, no two alike")


_HELPS = """TASK: decide whether one search result helps to answer a question.

Question, as it was asked: {question}
The same, as it was searched for: {search}

Result:
{piece}

It helps if it is about what the question is about and says something that a right answer needs. A result
about something else helps nobody, however many words it shares with the question."""

_REWORDS = """TASK: word an answer in {count} other ways.

Question: {question}
Answer: {gold}

Half of them shorter and simpler, half of them fuller. Each says all that the answer says and nothing else
that could be wrong: the same names, dates, figures and units. At most {words} words each, each different."""


class ModelReferee(Referee):
    """A model judges by CRAG-MM's protocol, marks results and words labels anew, at temperature 0."""

    def __init__(self, judge: Judge, folder: Path, at_once: int, model: VlmClient) -> None:
        super().__init__(judge, folder, at_once)
        self._model = model

    async def _marked(self, need: Need, piece: str) -> bool:
        """Ask the model, without the gold answer, as in the paper."""
        text = _HELPS.format(question=need.question, search=need.search, piece=piece)
        return bool((await self._complete("helps", text, Relevance, 32)).helps)

    async def _reworded(self, question: str, gold: str, count: int) -> list[str]:
        """Ask the model, and leave out wordings that are too long."""
        text = _REWORDS.format(question=question, gold=gold, count=count, words=LONGEST_LABEL_WORDS)
        answers = (await self._complete("rewordings", text, Rewordings, 120 * count)).answers
        plain = dict.fromkeys(" ".join(each.split()) for each in answers)
        return [each for each in plain if each and len(each.split()) <= LONGEST_LABEL_WORDS][:count]

    async def _complete(self, name: str, text: str, schema: type[Any], most_tokens: int) -> Any:
        prompt = Prompt(name, "You judge for a benchmark.", (TextPart(text),), schema, most_tokens)
        try:
            return (await self._model.complete(prompt, Deadline.after_ms(_PATIENCE_MS))).value
        except LoreglassError as error:
            raise NoJudgement(error.detail) from error


@asynccontextmanager
async def open_model(base_url: str, name: str) -> AsyncIterator[VlmClient]:
    """Open the judge's model for marks and wordings, with the settings of its verdicts."""
    settings = JudgeSettings()
    endpoint = Endpoint(base_url or settings.url, name or settings.model, settings.key.get_secret_value())
    async with http_client() as http:
        yield VlmClient(http, endpoint)


def _read(path: Path) -> dict[str, Any]:
    """Return stored judgements, without lines that a killed process cut off."""
    entries: dict[str, Any] = {}
    for line in path.read_text("utf-8", "replace").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            entries[entry["key"]] = entry["said"]
        except (ValueError, KeyError, TypeError):
            continue
    return entries
