"""Turn a conversation in OpenAI's shape into a question.

The user's last message is the question, the newest photo that the user sent is its photo, the messages before
it are the history, and system messages are instructions for the wording.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import anyio.to_thread

from chassis.errors import ImageUrlNotAllowed, InvalidRequest, MalformedRequest
from chassis.json_text import read_json
from chassis.resilience.deadlines import Deadline
from chassis.validation import validate
from contracts.answer import DEFAULT_PIPELINE
from contracts.chat import MOST_MESSAGES, ChatMessage, ChatRequest
from gateway.reasoning.refusals import is_refusal
from gateway.routes.intake import experiment_of, photo_of, question_text, sound_of
from gateway.serving.question import Question
from gateway.serving.stores import Session
from gateway.serving.tenants import Caller
from gateway.settings import Reasoning
from gateway.speech.audio import Sound
from gateway.state import Turn
from gateway.wiring import Gateway

_MOST_INSTRUCTION_CHARS = 4_000
_NAME_IT = "What is this?"
"""The question of a photo without words."""


def read_chat(body: bytes) -> ChatRequest:
    """Parse the body. Blocking: photos in base64 take tens of milliseconds to read."""
    return validate(ChatRequest, read_json(body))


def pipeline_of(model: str, gateway: Gateway) -> str:
    """Return the pipeline that an alias means, or the name itself, without the tag of Ollama's clients."""
    return DEFAULT_PIPELINE if model in gateway.settings.model_aliases else model.removesuffix(":latest")


async def to_question(
    chat: ChatRequest, gateway: Gateway, caller: Caller, deadline_ms: int, deadline: Deadline
) -> Question:
    """Return the checked question; its `ignored_fields` names what was cut or ignored.

    Raises `InvalidRequest`, `MalformedRequest`, `ImageUrlNotAllowed`, `ExperimentsNotAllowed`, or what
    `photo_of` and `sound_of` raise.
    """
    settings = gateway.settings
    experiment = experiment_of(chat.experiment, settings)
    messages, longest = _until_the_question(chat.messages), settings.max_question_chars
    last = messages[-1]
    turns = tuple(_turns(messages[-MOST_MESSAGES:-1]))
    history = tuple(
        replace(turn, question=turn.question[:longest], answer=turn.answer[:longest]) for turn in turns
    )
    cut = history != turns or len(messages) > MOST_MESSAGES
    ignored_fields = ["history"] if cut or any(message.sounds for message in messages[:-1]) else []
    if any(message.has_others for message in messages):
        ignored_fields.append("parts")
    whole = last.text.strip() or (_NAME_IT if last.photos and not last.sounds else "")
    text = _both_ends(whole, longest)
    if text != whole:
        ignored_fields.append("question")
    system = (each.text for each in chat.messages if each.role in ("system", "developer"))
    instructions = "\n".join(system).strip()
    most = _MOST_INSTRUCTION_CHARS if settings.reasoning is Reasoning.VLM else 0
    if len(instructions) > most:
        ignored_fields.append("instructions")
    photos = [uri for message in messages if message.role == "user" for uri in message.photos]
    if len(last.photos) > 1:
        ignored_fields.append("photos_but_last")
    is_new, photo = bool(last.photos), None
    if photos and not is_new and not _is_data(photos[-1]):
        ignored_fields.append("photo")  # an older one would be another thing
    elif photos:
        data = await anyio.to_thread.run_sync(_photo_bytes, photos[-1])
        photo = await photo_of(data, gateway, caller, deadline)
    conversation = Session("", None if is_new else photo, history)
    sound = await _sound(last, gateway, caller, deadline)
    return Question(
        text=question_text(text, settings) if text or sound is None else "",
        sound=sound,
        photo=photo if is_new else None,
        session_id=None,
        deadline_ms=deadline_ms,
        pipeline=pipeline_of(chat.model, gateway),
        conversation=conversation,
        caller=caller,
        instructions=instructions[:most],
        ignored_fields=tuple(ignored_fields),
        experiment=experiment,
    )


def _until_the_question(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """Return the messages up to the user's last one. A prefilled reply or a tool's may follow it."""
    for place in range(len(messages), 0, -1):
        if messages[place - 1].role == "user":
            return messages[:place]
    raise InvalidRequest("messages: one must be the user's.")


def _turns(messages: Sequence[ChatMessage]) -> Iterator[Turn]:
    """Yield each user message with the reply that came next. Tool calls and their results are ignored."""
    exchange = [each for each in messages if each.role == "user" or (each.role == "assistant" and each.text)]
    for message, reply in pairwise(exchange):
        if (message.role, reply.role) == ("user", "assistant"):
            yield Turn(message.text, reply.text, is_refusal(reply.text))


def _both_ends(text: str, longest: int) -> str:
    """Cut the middle of a long text: people put the question before or after what they paste."""
    if len(text) <= longest:
        return text
    half = longest // 2 - 2
    return f"{text[:half].rstrip()}\n…\n{text[-half:].lstrip()}"


async def _sound(message: ChatMessage, gateway: Gateway, caller: Caller, deadline: Deadline) -> Sound | None:
    if not message.sounds:
        return None
    if len(message.sounds) > 1:
        raise InvalidRequest("messages: one recording a message is heard.")
    data = await anyio.to_thread.run_sync(_decode, message.sounds[0], "recording")
    return await sound_of(data, gateway, caller, deadline)


def _is_data(uri: str) -> bool:
    head = uri.partition(",")[0].strip().lower()
    return head.startswith("data:") and head.endswith(";base64")


def _photo_bytes(uri: str) -> bytes:
    if not _is_data(uri):
        raise ImageUrlNotAllowed("Send the photo as a data: URI with base64; URLs are not fetched.")
    body = uri.partition(",")[2]
    return _decode(body, "photo's data: URI")


def _decode(text: str, what: str) -> bytes:
    """Decode base64, which may have line ends and lack its padding."""
    bare = "".join(text.split()).rstrip("=")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except ValueError as error:
        raise MalformedRequest(f"The {what} is not valid base64.") from error
