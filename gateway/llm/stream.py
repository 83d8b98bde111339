"""Receive a reply, streamed or whole, until it is complete."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import structlog

from chassis.http.client import ExchangeError, Response
from gateway.llm.assembly import Assembling
from gateway.llm.call import Progress
from gateway.llm.failures import failure
from gateway.llm.server import bounded
from gateway.llm.wire import BrokenStream, ErrorWire, events, read_chunk

_EPILOGUE_S = 0.25  # a server that enforces the schema ends within one token; others may ramble on
_DEFAULT_ERROR_STATUS = 500

log = structlog.get_logger()


async def receive(response: Response, assembly: Assembling[Any], progress: Progress, model: str) -> None:
    """Add the reply to `assembly`. Raises `BrokenStream`, `ExchangeError` or the error in the reply."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        _add(assembly, (await bounded(response)).decode("utf-8", "replace"), model)
        if assembly.finish_reason is None and not assembly.text:
            raise BrokenStream("a reply has no choices")
        return
    async with aclosing(events(response.pieces())) as stream:
        try:
            async for event in stream:
                _add(assembly, event, model)
                if progress.first_token_s is None and (assembly.text or assembly.thinks):
                    progress.first_token_s = time.monotonic() - progress.started
                if assembly.is_complete:
                    await _receive_epilogue(stream, assembly)
                    break
        except BrokenStream:
            if assembly.finish_reason is None:
                raise


def _add(assembly: Assembling[Any], event: str, model: str) -> None:
    chunk = read_chunk(event)
    if isinstance(chunk, ErrorWire):  # vLLM finds some faults only after its 200
        status = chunk.code if isinstance(chunk.code, int) else _DEFAULT_ERROR_STATUS
        raise failure(status, chunk, None, model)
    assembly.add(chunk)


async def _receive_epilogue(stream: AsyncIterator[str], assembly: Assembling[Any]) -> None:
    """The finish reason and the usage may follow the reply, but are not worth much waiting."""
    with anyio.move_on_after(_EPILOGUE_S):
        try:
            async for event in stream:
                chunk = read_chunk(event)
                if isinstance(chunk, ErrorWire) or not assembly.add_after(chunk):
                    return
        except (BrokenStream, ExchangeError) as error:
            log.info("vlm.ended_early", reason=type(error).__name__)
