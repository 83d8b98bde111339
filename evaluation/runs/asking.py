"""Asks a running gateway a dataset's questions, as a wearer's device would: photo first, then by session."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyio
import structlog

from contracts.answer import DEFAULT_PIPELINE
from evaluation.data.model import AskedTurn, Conversation
from evaluation.record import TurnRecord
from evaluation.runs.patience import Patience, Questioner, Reply, RunStopped, Sleep
from loreglass_client import Answer, AsyncLoreglass, LoreglassError
from loreglass_client.client import Options
from loreglass_client.errors import SessionNotFound, TraceNotFound
from loreglass_client.models import Experiment, Trace

log = structlog.get_logger()

Keep = Callable[[TurnRecord], Awaitable[None]]

NO_PHOTO = "photo_unreadable"
_FORGET_S = 5


@dataclass(frozen=True, slots=True)
class Asking:
    """How to ask. `concurrency` conversations run at once; None leaves a choice to the gateway.

    `explain`: ask for explanations; `model_calls`: with what the model was asked and what it wrote.
    `thresholds`: other cut-offs, for every question. `without`: modules of the pipeline that every question
    is answered without.
    """

    concurrency: int = 2
    deadline_ms: int | None = None
    pipeline: str | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    explain: bool = True
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
        patience: Patience | None = None,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        wanted = Experiment(
            explain=asking.explain,
            thresholds=dict(asking.thresholds),
            without=list(asking.without),
            model_calls=asking.model_calls,
        )
        self.questioner = Questioner(wanted, patience, sleep)
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
                await self._keep(_record(conversation, place, number, reply, trace))
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


def _record(
    conversation: Conversation, place: int, number: int, reply: Reply, trace: Trace | None
) -> TurnRecord:
    came_back = {
        "answer": reply.answer,
        "trace": trace,
        "error": reply.error,
        "client_ms": reply.client_ms,
        "asked_again": reply.asked_again,
    }
    return unasked(conversation, place, number).model_copy(update=came_back)


def unasked(conversation: Conversation, place: int, number: int) -> TurnRecord:
    """What is kept of a question before anybody has answered it. `place`, `number`: from 0."""
    turn = conversation.turns[number]
    told = {
        **asdict(turn),
        "session_id": conversation.session_id,
        "photo": str(conversation.photo.resolve()) if conversation.photo else "",
        "truth": turn.truth.model_dump() if turn.truth else None,
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
