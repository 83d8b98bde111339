"""Asks a running gateway every question, as a wearer's device would: photo first, then by session."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import structlog

from chassis.errors import LoreglassError
from clients.python import LoreglassClient
from contracts.answer import Answer
from contracts.errors import ErrorKind
from evaluation.judging.judge import Judgement, Verdict, judge
from evaluation.rows import AskedTurn, Conversation
from evaluation.scoring import Outcome

log = structlog.get_logger()

OnTurn = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class Asking:
    """How to ask. `concurrency` conversations run at once; None leaves a choice to the gateway."""

    concurrency: int = 2
    deadline_ms: int | None = None
    pipeline: str | None = None


async def ask_all(
    client: LoreglassClient, conversations: Sequence[Conversation], asking: Asking, on_turn: OnTurn
) -> list[Outcome]:
    """The outcome of every turn, in the order of the conversations whatever finished first.

    Raises `OSError` where a photo cannot be read.
    """
    outcomes: list[list[Outcome]] = [[] for _ in conversations]
    slots = anyio.CapacityLimiter(asking.concurrency)

    async def converse(index: int, conversation: Conversation) -> None:
        async with slots:
            talk = _Talk(client, asking, await anyio.Path(conversation.photo).read_bytes())
            try:
                for turn in conversation.turns:
                    outcomes[index].append(await talk.ask(conversation.session_id, turn))
                    on_turn(outcomes[index][-1])
            finally:
                await talk.forget()

    async with anyio.create_task_group() as group:
        for index, conversation in enumerate(conversations):
            group.start_soon(converse, index, conversation)
    return [outcome for turns in outcomes for outcome in turns]


class _Talk:
    """One conversation with the gateway: the photo goes along until the gateway remembers it."""

    def __init__(self, client: LoreglassClient, asking: Asking, photo: bytes) -> None:
        self._client = client
        self._asking = asking
        self._photo = photo
        self._session_id: str | None = None

    async def ask(self, session_id: str, turn: AskedTurn) -> Outcome:
        """Ask one question; a failure is an outcome too."""
        started = time.monotonic()
        answer, error = None, None
        try:
            answer = await self._reply(turn.question)
            self._session_id = answer.session_id
        except LoreglassError as failure:
            error = failure.kind.value
            if failure.kind is ErrorKind.SESSION_NOT_FOUND:
                self._session_id = None  # begin anew with the photo
        client_ms = round((time.monotonic() - started) * 1000, 2)
        return Outcome(session_id, turn, _judgement(turn, answer), answer, error, client_ms)

    async def forget(self) -> None:
        """Free what the gateway keeps; out of reach, it forgets by itself when the time comes."""
        if self._session_id is None:
            return
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            try:
                await self._client.delete_session(self._session_id)
            except LoreglassError as failure:
                log.warning("session_not_deleted", error=failure.kind.value)

    async def _reply(self, question: str) -> Answer:
        return await self._client.ask(
            question,
            photo=None if self._session_id else self._photo,
            session_id=self._session_id,
            deadline_ms=self._asking.deadline_ms,
            pipeline=self._asking.pipeline,
        )


def _judgement(turn: AskedTurn, answer: Answer | None) -> Judgement:
    if answer is None:
        return Judgement(Verdict.MISSING, "the request failed")
    return judge(answer.answer, turn.truth, turn.question, turn.gold, abstained=answer.abstained)
