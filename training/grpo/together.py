"""Lets many coroutines ask a model at once: they wait for each other, and one batch answers all of them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Request = TypeVar("Request")
Reply = TypeVar("Reply")


@dataclass(slots=True)
class _Waiting(Generic[Request, Reply]):
    place: int
    request: Request
    reply: "asyncio.Future[Reply]"


class Together(Generic[Request, Reply]):
    """`answer` is given the requests of all who are still at work, in the order of their places.

    It blocks: while it runs nobody else has anything to do. Each coroutine asks one thing at a time.
    """

    def __init__(self, answer: Callable[[Sequence[Request]], Sequence[Reply]], members: int) -> None:
        self._answer = answer
        self._members = members
        self._waiting: list[_Waiting[Request, Reply]] = []
        self.failure: Exception | None = None

    async def ask(self, place: int, request: Request) -> Reply:
        """The reply, once all others ask too or have ended. Raises what `answer` raises."""
        waiting = _Waiting[Request, Reply](place, request, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._answer_if_all_wait()
        return await waiting.reply

    def leave(self) -> None:
        """A member has ended, and will ask no more."""
        self._members -= 1
        self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        waiting = [each for each in self._waiting if not each.reply.done()]
        if not waiting or len(waiting) < self._members:
            return
        self._waiting = []
        waiting.sort(key=lambda each: each.place)
        try:
            replies = self._answer([each.request for each in waiting])
        except Exception as error:  # noqa: BLE001 - raised where it was asked for, and kept
            self.failure = error
            for each in waiting:
                each.reply.set_exception(error)
            return
        for each, reply in zip(waiting, replies, strict=True):
            each.reply.set_result(reply)
