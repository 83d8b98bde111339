"""Asks a model's server, beside all questions, what it can do: a list of its models and two short replies.

What a server takes without complaint it may still ignore: vLLM 0.10.2 answers 200 to a schema and drops it
where a model runs on its V0 engine (`LLMEngine._build_logits_processors`). So the model is asked in words for
one thing and by schema for another; what comes back tells which of the two was heeded.
"""

import io
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import anyio
import structlog
from PIL import Image
from pydantic import BaseModel, Field

from chassis.errors import DependencyUnavailable, LoreglassError
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.tracing import TRACE_ID
from gateway.llm.capabilities import EVERYTHING, Abilities
from gateway.llm.client import VlmClient
from gateway.llm.completion import Written
from gateway.llm.failures import ContextTooLong, RequestRefused, refused_for_good
from gateway.llm.prompt import ImagePart, Prompt, TextPart, TextPrompt
from gateway.llm.repair import read_object
from gateway.llm.schema_forms import SchemaForm

_WITHIN_MS = 180_000.0
"""A server on a laptop reads its model from disk before the first word."""
_LOOK_EVERY_S, _MOST_S = 5.0, 60.0
_MOST_TOKENS = 48
_SIDE = 64

log = structlog.get_logger()


class _Kind(StrEnum):
    HELD = "by-the-schema"
    HELD_TOO = "by-the-grammar"


class _ByGrammarOnly(BaseModel):
    """What no model writes of itself; with the keywords that our schemas use."""

    kind: _Kind
    words: Annotated[list[Annotated[str, Field(max_length=6)]], Field(max_length=1)]


TASK = "Reply with this one word and nothing else: ready"


async def probe(client: VlmClient, deadline: Deadline) -> Abilities:
    """What the server can do; the client believes it from now on. Raises `LoreglassError`."""
    context = await client.context(deadline)
    photo = _photo()
    asks = Prompt(
        "probe",
        "You do what you are asked.",
        (photo, TextPart(TASK)),
        _ByGrammarOnly,
        _MOST_TOKENS,
        in_lines=TASK,
    )
    try:
        asked, reply = await client.trial(asks, EVERYTHING, deadline)
    except RequestRefused as refusal:
        raise refused_for_good(refusal) from refusal
    form = _held(asked.form, reply.text)
    found = replace(
        asked,
        form=form,
        logprobs=asked.logprobs and reply.tokens is not None,
        masked=form.has_grammar and _is_masked(reply),
        photos=await _photos(client, photo, asked, deadline),
        context=context,
    )
    client.believe(found)
    return found


async def keep_probing(
    clients: Sequence[VlmClient], sleep: Callable[[float], Awaitable[None]] = anyio.sleep
) -> None:
    """Until cancelled: each at start, again while its server is away, after it was, and every few minutes."""
    async with anyio.create_task_group() as group:
        for client in clients:
            group.start_soon(_keep_probing, client, sleep)


async def _keep_probing(client: VlmClient, sleep: Callable[[float], Awaitable[None]]) -> None:
    wait_s = _LOOK_EVERY_S
    while True:
        if client.unknown:
            TRACE_ID.set(uuid.uuid4().hex)  # the lines that it logs belong together
            try:
                await probe(client, Deadline.after_ms(_WITHIN_MS))
                wait_s = _LOOK_EVERY_S
            except LoreglassError as error:
                log.debug("vlm.not_probed", kind=error.kind.value)
                wait_s = min(2 * wait_s, _MOST_S)
        await sleep(wait_s)


def _held(form: SchemaForm, text: str) -> SchemaForm:
    """The form that bound the model: the one that the server took, or none."""
    read = read_object(text) if text.lstrip().startswith("{") else None
    if read is None or (form.has_grammar and read.value.get("kind") not in set(_Kind)):
        return SchemaForm.WORDS
    return form


def _is_masked(reply: Written) -> bool:
    """Whether what the schema forced was told as probable: the model would have written another word."""
    told = [token.probability for token in reply.tokens or ()]
    return bool(told) and sum(told) / len(told) > 0.5


async def _photos(client: VlmClient, photo: ImagePart, asked: Abilities, deadline: Deadline) -> int:
    """1 where a second photo is refused, 2 where it is taken, 0 where the server failed."""
    two = TextPrompt("probe", "You do what you are asked.", (photo, photo, TextPart(TASK)), 1)
    try:
        await client.trial(two, asked, deadline)
    except (RequestRefused, ContextTooLong):
        return 1
    except DependencyUnavailable:  # some servers fall over: the rest of what was found stands
        return 0
    return 2


def _photo() -> ImagePart:
    buffer = io.BytesIO()
    Image.new("RGB", (_SIDE, _SIDE), (128, 128, 128)).save(buffer, "JPEG")
    return ImagePart(buffer.getvalue())
