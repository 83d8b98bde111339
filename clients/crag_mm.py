"""Loreglass as an agent of CRAG-MM's official evaluation, so that the starter kit's own script can score it.

In the kit's `agents/user_config.py`:

    from clients.crag_mm import LoreglassAgent as UserAgent

with this package installed in the kit's environment and a gateway running (`make serve`, or any other). Who
is asked, and how many questions at once: `LOREGLASS_GATEWAY_URL`, `LOREGLASS_API_KEY`,
`LOREGLASS_AGENT_PIPELINE`, `LOREGLASS_AGENT_CONCURRENCY`. The kit's search pipeline is not used: the platform
searches what was indexed there.
"""

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import anyio
import anyio.to_thread
import structlog
from anyio.from_thread import start_blocking_portal
from PIL import Image

from chassis.images import encode_picture, upright
from clients.settings import AgentSettings
from loreglass_client import AsyncLoreglass, LoreglassError, Retries

log = structlog.get_logger()

DONT_KNOW = "I don't know"
"""The reply that the kit counts as missing. The kit stops at an empty answer."""

_LARGEST_BATCH = 16
_SECONDS_A_QUERY = 10.0
_WAY_BACK_MS = 500
_RETRIES = Retries(most=10)
_MAX_SIDE = 2048  # pixels; the gateway scales down further
_QUALITY = 92
_ENCODERS = 4

History = Sequence[Mapping[str, Any]]


class LoreglassAgent:
    """The agent of the kit: a batch size, and answers to a batch. A failed question never raises.

    One string for each query, in order; "I don't know" where the gateway has no answer within ten seconds.
    """

    def __init__(self, search_pipeline: object = None, settings: AgentSettings | None = None) -> None:
        self.search_pipeline = search_pipeline
        self._settings = settings or AgentSettings()

    def get_batch_size(self) -> int:
        """Return the number of questions in a batch."""
        return min(max(self._settings.agent_concurrency, 1), _LARGEST_BATCH)

    def batch_generate_response(
        self,
        queries: Sequence[str],
        images: Sequence[Image.Image | None],
        message_histories: Sequence[History | None] | None = None,
        **_: object,
    ) -> list[str]:
        """The answers; all of the batch is asked at once.

        Histories hold `{"role", "content"}` of earlier turns. What else a kit hands over (the 2026 one looks
        things up itself) is not used.
        """
        histories = list(message_histories or ())
        batch = [
            (query, images[place] if place < len(images) else None, _pairs(histories[place : place + 1]))
            for place, query in enumerate(queries)
        ]
        # A thread for each batch: the caller may have a loop of its own, and one that stayed would keep the
        # kit's script, which closes nothing, from ever ending.
        with start_blocking_portal() as portal:
            return portal.call(self._answer_all, batch)

    async def _answer_all(self, batch: "Sequence[_Turn]") -> list[str]:
        answers = [DONT_KNOW] * len(batch)
        key = self._settings.api_key.get_secret_value()
        encoders = anyio.CapacityLimiter(_ENCODERS)

        async def work(client: AsyncLoreglass, place: int, turn: "_Turn") -> None:
            answers[place] = await self._answer(client, turn, encoders)

        async with (
            AsyncLoreglass(self._settings.gateway_url, key, retries=_RETRIES) as client,
            anyio.create_task_group() as group,
        ):
            for place, turn in enumerate(batch):
                group.start_soon(work, client, place, turn)
        return answers

    async def _answer(self, client: AsyncLoreglass, turn: "_Turn", encoders: anyio.CapacityLimiter) -> str:
        query, image, history = turn
        if image is None:
            log.warning("not_answered", why="there is no photo")
            return DONT_KNOW
        due = time.monotonic() + _SECONDS_A_QUERY
        try:
            with anyio.fail_after(_SECONDS_A_QUERY):
                photo = await anyio.to_thread.run_sync(photo_of, image, limiter=encoders)
                left_ms = int((due - time.monotonic()) * 1000) - _WAY_BACK_MS
                sendable = query.encode(errors="replace").decode()
                answer = await client.ask_in(
                    history, sendable, photo, self._settings.agent_pipeline, deadline_ms=max(left_ms, 1)
                )
        except TimeoutError:
            log.warning("not_answered", why="no answer in time")
        except LoreglassError as failure:
            log.warning("not_answered", why=failure.kind, detail=failure.detail)
        except Exception as failure:  # noqa: BLE001 - one bad photo must not end an evaluation of hours
            log.warning("not_answered", why=type(failure).__name__)
        else:
            return answer.answer.strip() or DONT_KNOW
        return DONT_KNOW


_Turn = tuple[str, Image.Image | None, Sequence[tuple[str, str]]]


def photo_of(image: Image.Image) -> bytes:
    """The picture upright, opaque and of bounded size, as JPEG. Blocking; `image` stays as it is."""
    return encode_picture(upright(image, _MAX_SIDE), _QUALITY)


def _pairs(histories: Sequence[History | None]) -> list[tuple[str, str]]:
    """A question with the answer that came next, newest last; a question without a reply is no turn."""
    pairs: list[tuple[str, str]] = []
    for history in histories:
        for message, reply in pairwise(history or ()):
            if (message.get("role"), reply.get("role")) == ("user", "assistant"):
                pairs.append((_text(message.get("content")), _text(reply.get("content"))))
    return pairs


def _text(content: object) -> str:
    """A message's words, whether it is a text or a list of parts."""
    if isinstance(content, list | tuple):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content or "").encode(errors="replace").decode()
