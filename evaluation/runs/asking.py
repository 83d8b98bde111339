"""Ask a gateway the questions of a data set, as a device would: photo first, then by session.

A question is asked again where the gateway is overloaded or cannot be reached; a run that has no hope stops.
Any other error is recorded as the result of the question, unless every question would end in it.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import structlog

from contracts.answer import DEFAULT_PIPELINE
from evaluation.data.model import Conversation, EvaluationError
from evaluation.record import TurnRecord
from loreglass_client import Answer, AsyncLoreglass, LoreglassError
from loreglass_client.client import Options
from loreglass_client.errors import (
    ExperimentsNotAllowed,
    InvalidRequest,
    NotConfigured,
    Overloaded,
    PipelineNotFound,
    SessionNotFound,
    TraceNotFound,
    Unauthorized,
    Unreachable,
)
from loreglass_client.models import Experiment, Trace

log = structlog.get_logger()

Keep = Callable[[TurnRecord], Awaitable[None]]

NO_PHOTO = "photo_unreadable"
_FORGET_S = 5


@dataclass(frozen=True, slots=True)
class Asking:
    """The options of requests. `concurrency` conversations run at once; None: the gateway's default.

    `model_calls`: explanations hold what the model was asked and what it wrote.
    `thresholds`: other cut-offs, for every question. `without`: modules of the pipeline that every question
    is answered without.
    """

    concurrency: int = 2
    deadline_ms: int | None = None
    pipeline: str | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    model_calls: bool = False

    @property
    def experiment(self) -> Experiment:
        """The experiment of every request."""
        return Experiment(
            explain=True,
            thresholds=dict(self.thresholds),
            without=list(self.without),
            model_calls=self.model_calls,
        )


Send = Callable[[Experiment | None], Awaitable[Answer]]
Sleep = Callable[[float], Awaitable[None]]

MOST_OVERLOADS = 30
"""Retries of a rejected question, each after its Retry-After."""
MOST_LOSSES = 5
"""Failures in a row to reach the gateway at all after which it is given up."""
_FIRST_PAUSE_S, _PAUSE_S, _LONGEST_PAUSE_S = 0.25, 1.0, 30.0


class RunStopped(EvaluationError):
    """The run cannot go on; the message says why and what to do."""


class Reply(NamedTuple):
    """A question's answer, or the kind of the error. `client_ms`: of the last request only."""

    answer: Answer | None
    error: str | None
    client_ms: float
    asked_again: int


class Questioner:
    """Asks for a whole run. `experiment`: what every question is sent with. Where the gateway takes no
    experiments and this one only explains, `explains` becomes false and the questions go without.
    """

    def __init__(self, experiment: Experiment, sleep: Sleep = anyio.sleep) -> None:
        self.explains = experiment.explain
        self._experiment = experiment
        self._varies = bool(experiment.thresholds or experiment.without or experiment.model_calls)
        self._sleep = sleep
        self._losses = 0

    async def put(self, send: Send) -> Reply:
        """Return the reply that counts. Raises `RunStopped`."""
        overloads = losses = 0
        while True:
            experiment = self._experiment if self.explains or self._varies else None
            answer, failure = None, None
            started = time.monotonic()
            try:
                answer = await send(experiment)
            except LoreglassError as error:
                failure = error
            client_ms = round((time.monotonic() - started) * 1000, 2)
            self._losses = self._losses + 1 if isinstance(failure, Unreachable) else 0
            if isinstance(failure, Unreachable) and self._losses >= MOST_LOSSES:
                hint = "The answers so far are kept. Run the same command again to continue."
                raise RunStopped(f"{failure.detail}\n{hint}") from failure
            if isinstance(failure, Unreachable) and losses + 1 < MOST_LOSSES:
                losses += 1  # more than that is this question's fault: the gateway is up for others
                await self._sleep(_FIRST_PAUSE_S * 2.0**losses)
            elif isinstance(failure, Overloaded) and overloads < MOST_OVERLOADS:
                overloads += 1
                await self._sleep(min(failure.retry_after_s or _PAUSE_S, _LONGEST_PAUSE_S))
            elif isinstance(failure, ExperimentsNotAllowed) and experiment and not self._varies:
                self.explains = False
            else:
                if failure:
                    _stop_if_all_would_fail(failure)
                return Reply(answer, failure.kind if failure else None, client_ms, overloads)


def _stop_if_all_would_fail(failure: LoreglassError) -> None:
    if isinstance(failure, ExperimentsNotAllowed):
        raise RunStopped(
            f"{failure.detail} Without that, a question can have no thresholds of its own and leave out "
            "no module."
        ) from failure
    bad_experiment = isinstance(failure, InvalidRequest) and "experiment" in failure.detail
    if bad_experiment or isinstance(failure, NotConfigured | PipelineNotFound | Unauthorized):
        raise RunStopped(failure.detail) from failure


@dataclass(frozen=True, slots=True)
class Interview:
    """Asks the conversations of a dataset. `known`: what was recorded before, by interaction id, is not asked
    again.
    """

    client: AsyncLoreglass
    asking: Asking
    questioner: Questioner
    keep: Keep
    known: Mapping[str, TurnRecord]

    async def converse(self, placed: tuple[int, Conversation]) -> None:
        """Ask and keep every turn that is not known yet, of a conversation with its place in the dataset.

        Raises `RunStopped`.
        """
        place, conversation = placed
        past = [each for turn in conversation.turns if (each := self.known.get(turn.interaction_id))]
        if len(past) == len(conversation.turns):
            return
        photo = None if conversation.photo is None else await _read(conversation.photo)
        unreadable = conversation.photo is not None and photo is None
        talk = _Talk(self, photo, past)
        for number, turn in enumerate(conversation.turns):
            if turn.interaction_id not in self.known:
                reply = Reply(None, NO_PHOTO, 0.0, 0) if unreadable else await talk.ask(turn.question)
                outcome = {**reply._asdict(), "trace": await talk.trace(reply.answer)}
                await self.keep(unasked(conversation, place, number).model_copy(update=outcome))
        await talk.forget()


class _Talk:
    """One conversation with the gateway: the photo, if any, goes along until the gateway remembers it.

    A session that the gateway no longer knows goes on with the conversation carried in each request.
    """

    def __init__(self, interview: Interview, photo: bytes | None, past: Sequence[TurnRecord]) -> None:
        self._client, self._asking = interview.client, interview.asking
        self._questioner, self._photo = interview.questioner, photo
        known = [(record.question, record.answer) for record in past if record.answer]
        self._history = [(question, answer.answer) for question, answer in known]
        self._session_id = known[-1][1].session_id if known else ""
        traces = [record.trace for record in past if record.trace]
        self._pipeline = self._asking.pipeline or (traces[-1].pipeline if traces else DEFAULT_PIPELINE)

    async def ask(self, question: str) -> Reply:
        """Ask one question; a failure is a reply too. Raises `RunStopped`."""
        reply = await self._questioner.put(partial(self._send, question))
        if reply.answer:
            self._history.append((question, reply.answer.answer))
        return reply

    async def trace(self, answer: Answer | None) -> Trace | None:
        """Return the trace, if the gateway still has it."""
        if answer is None:
            return None
        try:
            return await self._client.trace(answer.trace_id)
        except TraceNotFound:
            return None
        except LoreglassError as failure:
            log.warning("no_trace", error=failure.kind)
            return None

    async def forget(self) -> None:
        """Delete the gateway's session. If the gateway cannot be reached, the session expires later."""
        if not self._session_id:
            return
        with anyio.move_on_after(_FORGET_S):
            try:
                await self._client.forget(self._session_id)
            except LoreglassError as failure:
                log.warning("session_not_deleted", error=failure.kind)

    async def _send(self, question: str, experiment: Experiment | None) -> Answer:
        asking = self._asking
        how: Options = {
            "deadline_ms": asking.deadline_ms,
            "pipeline": asking.pipeline,
            "experiment": experiment,
        }
        if self._session_id:
            try:
                same_session: Options = {**how, "session_id": self._session_id}
                return await self._client.ask(question, **same_session)
            except SessionNotFound:
                self._session_id = ""
        if self._history:
            history, photo, pipeline = self._history, self._photo, self._pipeline
            return await self._client.ask_in(
                history, question, photo, pipeline, asking.deadline_ms, experiment
            )
        answer = await self._client.ask(question, self._photo, **how)
        self._session_id = answer.session_id
        return answer


async def _read(photo: Path) -> bytes | None:
    try:
        return await anyio.Path(photo).read_bytes()
    except OSError as error:
        log.warning("photo_unreadable", why=error.strerror)
        return None


def unasked(conversation: Conversation, place: int, number: int) -> TurnRecord:
    """Return the record of a question without an answer. `place`, `number`: from 0."""
    turn = conversation.turns[number]
    fields = {
        **asdict(turn),
        "session_id": conversation.session_id,
        "part": conversation.part,
        "turn": number,
        "place": place,
        "photo": str(conversation.photo.resolve()) if conversation.photo else "",
        "truth": turn.truth.model_dump() if turn.truth else None,
        "target": turn.target.model_dump() if turn.target else None,
    }
    # JSON's escapes can hold lone surrogates, and UTF-8 cannot
    return TurnRecord.model_validate_json(json.dumps(fields, ensure_ascii=False).encode(errors="replace"))
