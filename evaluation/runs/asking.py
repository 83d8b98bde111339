"""Ask a gateway the questions of a data set, as a device would: photo first, then by session.

An overloaded gateway is asked again when it says so; one that cannot be reached, a few times more. Any other
error is recorded as the result of the question, unless every question would end in it.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import anyio
import structlog

from contracts.answer import DEFAULT_PIPELINE
from evaluation.data.model import AskedTurn, Conversation, EvaluationError
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

Send = Callable[[Experiment | None], Awaitable[Answer]]
Sleep = Callable[[float], Awaitable[None]]

_FOR_EVERY_QUESTION = (NotConfigured, PipelineNotFound, Unauthorized)
_FIRST_PAUSE_S, _PAUSE_S, _LONGEST_PAUSE_S = 0.25, 1.0, 30.0


class RunStopped(EvaluationError):
    """It is no use to ask on; the message says why and what to do."""


class GatewayLost(RunStopped):
    """The gateway cannot be reached."""


class GatewayRefuses(RunStopped):
    """The gateway will answer none of these questions as they are asked."""


MOST_OVERLOADS = 30
"""How often a question that is turned away is asked again, after what Retry-After says."""
MOST_LOSSES = 5
"""Failures in a row to reach the gateway at all after which it is given up."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A question's answer, or the kind of the error. `client_ms`: of the last request only."""

    answer: Answer | None
    error: str | None
    client_ms: float
    asked_again: int


class Questioner:
    """Asks for a whole run. `wanted`: what every question is sent with. Where the gateway takes no
    experiments and only explanations were wanted, `explains` becomes false and the questions go without.
    """

    def __init__(self, wanted: Experiment, sleep: Sleep = anyio.sleep) -> None:
        self.explains = wanted.explain
        self._wanted = wanted
        self._varies = bool(wanted.thresholds or wanted.without or wanted.model_calls)
        self._sleep = sleep
        self._losses = 0

    async def put(self, send: Send) -> Reply:
        """The reply that counts. Raises `RunStopped`."""
        overloads = losses = 0
        while True:
            experiment = self._experiment()
            started = time.monotonic()
            try:
                answer, failure = await send(experiment), None
            except LoreglassError as error:
                answer, failure = None, error
            client_ms = round((time.monotonic() - started) * 1000, 2)
            self._losses = self._losses + 1 if isinstance(failure, Unreachable) else 0
            if isinstance(failure, Unreachable) and self._goes_on(failure, losses := losses + 1):
                await self._sleep(_FIRST_PAUSE_S * 2.0**losses)
            elif isinstance(failure, Overloaded) and overloads < MOST_OVERLOADS:
                overloads += 1
                await self._sleep(min(failure.retry_after_s or _PAUSE_S, _LONGEST_PAUSE_S))
            elif not self._goes_without(experiment, failure):
                return Reply(answer, failure.kind if failure else None, client_ms, overloads)

    def _experiment(self) -> Experiment | None:
        if not self.explains and not self._varies:
            return None
        return self._wanted.model_copy(update={"explain": self.explains})

    def _goes_on(self, failure: Unreachable, losses: int) -> bool:
        """Not where the gateway is up for other questions, and goes down over this one."""
        if self._losses >= MOST_LOSSES:
            raise GatewayLost(
                f"{failure.detail}\nThe answers so far are kept. Run the same command again to continue."
            ) from failure
        return losses < MOST_LOSSES

    def _goes_without(self, experiment: Experiment | None, failure: LoreglassError | None) -> bool:
        if experiment and isinstance(failure, ExperimentsNotAllowed) and not self._varies:
            self.explains = False
            return True
        if failure:
            self._stop_where_all_would_fail(failure)
        return False

    def _stop_where_all_would_fail(self, failure: LoreglassError) -> None:
        if isinstance(failure, _FOR_EVERY_QUESTION):
            raise GatewayRefuses(failure.detail) from failure
        if not self._varies:
            return
        if isinstance(failure, ExperimentsNotAllowed):
            raise GatewayRefuses(
                f"{failure.detail} Without that, a question can have no thresholds of its own and leave out "
                "no module."
            ) from failure
        named = any(name in failure.detail for name in (*self._wanted.thresholds, "threshold", "experiment"))
        if isinstance(failure, InvalidRequest) and named:
            raise GatewayRefuses(failure.detail) from failure


log = structlog.get_logger()

Keep = Callable[[TurnRecord], Awaitable[None]]

NO_PHOTO = "photo_unreadable"
_FORGET_S = 5


@dataclass(frozen=True, slots=True)
class Asking:
    """How to ask. `concurrency` conversations run at once; None leaves a choice to the gateway.

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


class Interview:
    """A dataset being asked. `known`: what was recorded before, by interaction id, is not asked again."""

    def __init__(
        self,
        client: AsyncLoreglass,
        asking: Asking,
        keep: Keep,
        known: Mapping[str, TurnRecord],
    ) -> None:
        wanted = Experiment(
            explain=True,
            thresholds=dict(asking.thresholds),
            without=list(asking.without),
            model_calls=asking.model_calls,
        )
        self.questioner = Questioner(wanted)
        self._client = client
        self._asking = asking
        self._keep = keep
        self._known = known
        self._stopped: RunStopped | None = None

    async def ask_all(self, conversations: Sequence[Conversation]) -> None:
        """Every turn that is not known yet is asked, and kept. Raises `RunStopped`."""
        places = iter(enumerate(conversations))

        async def work(scope: anyio.CancelScope) -> None:
            for place, conversation in places:
                try:
                    await self._converse(place, conversation)
                except RunStopped as stopped:
                    self._stopped = self._stopped or stopped
                    scope.cancel()

        async with anyio.create_task_group() as group:
            for _ in range(self._asking.concurrency):
                group.start_soon(work, group.cancel_scope)
        if self._stopped:
            raise self._stopped

    async def _converse(self, place: int, conversation: Conversation) -> None:
        past = [record for turn in conversation.turns if (record := self._kept(turn))]
        if len(past) == len(conversation.turns):
            return
        photo = None if conversation.photo is None else await _read(conversation.photo)
        unreadable = conversation.photo is not None and photo is None
        talk = _Talk(self._client, self._asking, self.questioner, photo, past)
        for number, turn in enumerate(conversation.turns):
            if self._kept(turn) is None:
                reply = Reply(None, NO_PHOTO, 0.0, 0) if unreadable else await talk.ask(turn.question)
                trace = await talk.trace(reply.answer)
                came_back = {
                    **{each.name: getattr(reply, each.name) for each in fields(reply)},
                    "trace": trace,
                }
                await self._keep(unasked(conversation, place, number).model_copy(update=came_back))
        await talk.forget()

    def _kept(self, turn: AskedTurn) -> TurnRecord | None:
        return self._known.get(_sendable(turn.interaction_id))


class _Talk:
    """One conversation with the gateway: the photo, if any, goes along until the gateway remembers it.

    A session that the gateway no longer knows goes on with the conversation carried in each request.
    """

    def __init__(
        self,
        client: AsyncLoreglass,
        asking: Asking,
        questioner: Questioner,
        photo: bytes | None,
        past: Sequence[TurnRecord],
    ) -> None:
        self._client = client
        self._asking = asking
        self._questioner = questioner
        self._photo = photo
        self._history = [(record.question, record.answer.answer) for record in past if record.answer]
        answers = [record.answer for record in past if record.answer]
        self._session_id = answers[-1].session_id if answers else ""
        traces = [record.trace for record in past if record.trace]
        self._pipeline = asking.pipeline or (traces[-1].pipeline if traces else DEFAULT_PIPELINE)

    async def ask(self, question: str) -> Reply:
        """Ask one question; a failure is a reply too. Raises `RunStopped`."""
        sendable = str(_sendable(question))

        async def send(experiment: Experiment | None) -> Answer:
            return await self._send(sendable, experiment)

        reply = await self._questioner.put(send)
        if reply.answer:
            self._history.append((sendable, reply.answer.answer))
        return reply

    async def trace(self, answer: Answer | None) -> Trace | None:
        """What happened, if the gateway still tells."""
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
        """Free what the gateway keeps; out of reach, it forgets by itself when the time comes."""
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
                going_on: Options = {**how, "session_id": self._session_id}
                return await self._client.ask(question, **going_on)
            except SessionNotFound:
                self._session_id = ""
        if self._history:
            return await self._client.ask_in(
                self._history,
                question,
                self._photo,
                self._pipeline,
                asking.deadline_ms,
                experiment,
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
    """What is kept of a question before anybody has answered it. `place`, `number`: from 0."""
    turn = conversation.turns[number]
    told = {
        **asdict(turn),
        "session_id": conversation.session_id,
        "photo": str(conversation.photo.resolve()) if conversation.photo else "",
        "truth": turn.truth.model_dump() if turn.truth else None,
        "target": turn.target.model_dump() if turn.target else None,
    }
    return TurnRecord.model_validate(
        {**_sendable(told), "part": conversation.part, "turn": number, "place": place}
    )


def _sendable(value: Any) -> Any:
    """Without lone surrogates, which JSON's escapes can hold and UTF-8 cannot."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {key: _sendable(each) for key, each in value.items()}
    return [_sendable(each) for each in value] if isinstance(value, list | tuple) else value
