"""Probe the abilities of a model's server: list its models and send a short call or two.

A server may take a part of a request and ignore it: vLLM 0.10.2 answers 200 to a schema and drops it if a
model runs on its V0 engine (`LLMEngine._build_logits_processors`). So the prompt asks in words for one thing
and the schema for another; the reply shows which of the two was heeded.
"""

import io
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from enum import StrEnum

import anyio
import structlog
from PIL import Image
from pydantic import BaseModel

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.spans import TRACE_ID
from gateway.llm.asking import system_text
from gateway.llm.capabilities import EVERYTHING, Abilities, Thinking
from gateway.llm.client import Trial, VlmClient
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from gateway.llm.reply_forms import read_object
from gateway.llm.server import ContextTooLong, RequestRefused, ServerFailed, final_refusal

_WITHIN_MS = 180_000.0
"""A server on a laptop reads its model from disk before the first word."""
_CHECK_WITHIN_MS = 20_000.0
_LOOK_EVERY_S, _MOST_S = 5.0, 60.0
_MOST_TOKENS = 48
_SIDE = 64

log = structlog.get_logger()


class _Kind(StrEnum):
    HELD = "by-the-schema"
    HELD_TOO = "by-the-grammar"


class _ByGrammarOnly(BaseModel):
    """A reply that no model writes by itself."""

    kind: _Kind


TASK = "Reply with this one word and nothing else: ready"


async def probe(client: VlmClient, deadline: Deadline, abilities: Abilities = EVERYTHING) -> Abilities:
    """Return what the server can do; the client uses it from now on. Raises `LoreglassError`.

    `abilities`: those to begin with; photos that are already known to fail are not tried again. All
    prompts begin with the system text of questions, which a server with one slot then keeps in its cache.
    """
    try:
        details = await client.account.details(deadline)
        if await client.account.sees_photos(deadline) is False:
            abilities = replace(abilities, sees_photos=False)
        trial = await _trial(client, abilities, deadline)
        result = replace(
            trial.taken,
            schema=trial.taken.schema and _holds_schema(trial.reply.text),
            logprobs=trial.taken.logprobs and (trial.reply.tokens is not None or not trial.reply.text),
            context=details.context,
        )
    except RequestRefused as refusal:
        raise final_refusal(refusal) from refusal
    client.features.set_from_probe(result)
    return result


async def _trial(client: VlmClient, abilities: Abilities, deadline: Deadline) -> Trial:
    """One call for an object: with a photo, and without where that fails; without thoughts if that can be."""
    try:
        trial = await client.trial(_object_prompt(), abilities, deadline)
    except (RequestRefused, ServerFailed, ContextTooLong):
        if not abilities.sees_photos:
            raise
        trial = await client.trial(_object_prompt(), replace(abilities, sees_photos=False), deadline)
    if not trial.thinks:
        return trial
    taken = trial.taken
    try:
        quiet = await client.trial(_object_prompt(), replace(taken, thinking=Thinking.SWITCHED_OFF), deadline)
    except (RequestRefused, ServerFailed):
        return replace(trial, taken=replace(taken, thinking=Thinking.ON))
    return replace(quiet, taken=replace(quiet.taken, thinking=Thinking.ON)) if quiet.thinks else quiet


def _object_prompt() -> Prompt[_ByGrammarOnly]:
    parts = (_photo(), TextPart(TASK))
    return Prompt("probe", system_text(), parts, _ByGrammarOnly, _MOST_TOKENS, in_lines=TASK)


async def check(client: VlmClient) -> None:
    """Ask for one token, so that readiness tells whether the model answers."""
    prompt = Prompt("check", system_text(), (TextPart(TASK),), str, 1)
    # One token, of thoughts or of the reply.
    abilities = replace(client.features.current, thinking=Thinking.NONE)
    try:
        await client.trial(prompt, abilities, Deadline.after_ms(_CHECK_WITHIN_MS))
    except (LoreglassError, RequestRefused) as error:
        client.liveness.failed()
        log.warning("vlm.does_not_answer", kind=type(error).__name__)


async def keep_probing(
    clients: Sequence[VlmClient], sleep: Callable[[float], Awaitable[None]] = anyio.sleep
) -> None:
    """Until cancelled: probe each at start and after its server was away, and check that its model lives."""
    async with anyio.create_task_group() as group:
        for client in clients:
            group.start_soon(_keep_probing, client, sleep)


async def _keep_probing(client: VlmClient, sleep: Callable[[float], Awaitable[None]]) -> None:
    wait_s = _LOOK_EVERY_S
    while True:
        TRACE_ID.set(uuid.uuid4().hex)  # the lines that it logs belong together
        if client.features.probe_due:
            try:
                await probe(client, Deadline.after_ms(_WITHIN_MS))
                wait_s = _LOOK_EVERY_S
            except LoreglassError as error:
                client.liveness.failed()
                log.debug("vlm.not_probed", kind=error.kind.value)
                wait_s = min(2 * wait_s, _MOST_S)
        elif client.liveness.check_due:
            await check(client)
        await sleep(wait_s)


def _holds_schema(text: str) -> bool:
    """Return whether the reply is what only the schema asks for."""
    read = read_object(text) if text.lstrip().startswith("{") else None
    return read is not None and read.value.get("kind") in set(_Kind)


def _photo() -> ImagePart:
    buffer = io.BytesIO()
    Image.new("RGB", (_SIDE, _SIDE), (128, 128, 128)).save(buffer, "JPEG")
    return ImagePart(buffer.getvalue())
