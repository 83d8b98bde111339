"""The features of a model's server: found by a probe at start, and learned from what it refuses.

One memory per server. It holds until the next probe or until the server was away.
"""

import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import structlog

from gateway.llm.reply_forms import LINES, SCHEMA

log = structlog.get_logger()

TEXT_ONLY = "reads text; does not see photos"
"""The note on a model without photos: at start, in `/health/ready`, `/info`, the doctor and the page."""
TEXT_ONLY_NOTE = f"{TEXT_ONLY}: photos are answered by what the services read and recognise"
_THINKING_TOKENS = 1_024
_THINKING_SHARE = 8  # of a small context, no more than this part is for thoughts


class Thinking(StrEnum):
    """The thoughts that a model writes before its reply: none, switched off, or on."""

    NONE = "none"
    SWITCHED_OFF = "switched off"
    """The request asks the chat template not to start them, and the model heeds it."""
    ON = "on"


@dataclass(frozen=True, slots=True)
class Abilities:
    """The optional parts of a request that a server takes.

    `system`: a message of the role system; without it the system text begins the user's message.
    `schema`: replies are held to one; else they are asked for in labelled lines.
    `sees_photos`: false only if the model is known to take text alone.

    `context`: in tokens, 0 if unknown. A model that thinks gets `thinking_tokens` more for each reply.
    """

    schema: bool = True
    logprobs: bool = True
    usage: bool = True
    seed: bool = True
    system: bool = True
    sees_photos: bool = True
    context: int = 0
    thinking: Thinking = Thinking.NONE

    @property
    def form(self) -> str:
        """Return how metrics and experiments name the form of a reply."""
        return SCHEMA if self.schema else LINES

    @property
    def thinking_tokens(self) -> int:
        """The tokens that each reply may have for thoughts, besides its own."""
        if self.thinking is not Thinking.ON:
            return 0
        return min(_THINKING_TOKENS, self.context // _THINKING_SHARE or _THINKING_TOKENS)

    @property
    def described(self) -> dict[str, str]:
        more = f": replies get {self.thinking_tokens} more tokens for it" if self.thinking_tokens else ""
        return {
            "photos": "seen" if self.sees_photos else TEXT_ONLY,
            "schema": "held" if self.schema else "not held, replies are asked for in labelled lines",
            "system_message": "taken" if self.system else "refused, sent in the user's message",
            "token_probabilities": "reported" if self.logprobs else "not reported",
            "thinking": f"{self.thinking.value}{more}",
            "context_tokens": str(self.context) if self.context else "not reported",
        }


EVERYTHING = Abilities()

_THINKING = re.compile(r"chat_template_kwargs|enable_thinking", re.IGNORECASE)
_OPTIONAL = {
    "logprobs": re.compile(r"logprob", re.IGNORECASE),
    "usage": re.compile(r"stream_options|include_usage", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "system": re.compile(
        r"system (?:message|role|prompt)|role.{0,16}\bsystem\b|roles must alternate", re.IGNORECASE
    ),
}
"""Parts of a request, and how a server complains of each."""
_FORM = re.compile(
    r"response_?format|json_?schema|json_object|schema|grammar|guided|structured|outlines", re.IGNORECASE
)
_TEMPLATE = re.compile(r"\btemplate", re.IGNORECASE)
_IMAGES = re.compile(
    r"\b(?:images?|photos?|pictures?|vision|visual|mmproj)\b|image_(?:url|input)|multi-?modal", re.IGNORECASE
)
_TEXT_CONTENT = re.compile(
    r"content.{0,40}must be (?:a|of type) ?'?str|valid string|only.{0,4}text.{0,4} (?:content|parts?)"
    r"|expected a string|concatenate str",
    re.IGNORECASE,
)
_THIS_IMAGE = re.compile(
    r"identif|decod|corrupt|truncat|too (?:large|big|many|small)|resolution|dimension|bytes|exceed|fetch"
    r"|download|fail\w* to load|cannot load|at most [1-9]|up to [1-9]|only (?:one|1|a single)"
    r"|incompatible with system",
    re.IGNORECASE,
)


def is_about_images(complaint: str) -> bool:
    """Return whether a server says that the model takes no photos at all, not that this photo is wrong."""
    if _THIS_IMAGE.search(complaint):
        return False
    return bool(_IMAGES.search(complaint) or _TEXT_CONTENT.search(complaint))


def without(
    abilities: Abilities, complaint: str, *, confirmed: bool, with_photo: bool = False
) -> Abilities | None:
    """Return what to ask instead after a server refused with `complaint`; None if the fault lies elsewhere.

    A complaint that names no part is taken to be about the schema, unless such a request has worked before.
    A complaint about one photo or about the chat template is about nothing that could be left out.
    """
    if abilities.thinking is Thinking.SWITCHED_OFF and _THINKING.search(complaint):
        return replace(abilities, thinking=Thinking.ON)
    for part, words in _OPTIONAL.items():
        if getattr(abilities, part) and words.search(complaint):
            changed: dict[str, Any] = {part: False}
            return replace(abilities, **changed)
    if with_photo and abilities.sees_photos and is_about_images(complaint):
        return replace(abilities, sees_photos=False)
    is_unnamed = not confirmed and not (_IMAGES.search(complaint) or _TEMPLATE.search(complaint))
    if abilities.schema and (_FORM.search(complaint) or is_unnamed):
        return replace(abilities, schema=False)
    return None


_REFRESH_S = 3_600.0


class ServerFeatures:
    """The memory of one server. `current`: what to ask for; `confirmed`: that form of request has worked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, needed_context: int = 0) -> None:
        self.current = EVERYTHING
        self.confirmed = False
        self._clock = clock
        self._needed_context = needed_context
        self._probed_at: float | None = None

    @property
    def probed(self) -> bool:
        """Return whether a probe found the current features, and the server was not away since."""
        return self._probed_at is not None

    @property
    def probe_due(self) -> bool:
        """Return whether to probe: at first, after the server was away, and after a while."""
        return self._probed_at is None or self._clock() - self._probed_at > _REFRESH_S

    def set_from_probe(self, abilities: Abilities) -> None:
        """Use the abilities that a probe found, and log them if they are new."""
        is_new = not self.probed or abilities != self.current
        self.current, self.confirmed, self._probed_at = abilities, True, self._clock()
        if not is_new:
            return
        log.info("vlm.abilities", probed=True, **abilities.described)
        if not abilities.schema:
            log.warning("vlm.schema_not_held")
        if 0 < abilities.context < self._needed_context:
            advice = "set LOREGLASS_GATEWAY_VLM_CONTEXT to what it has, or serve it with more"
            has, needs = abilities.context, self._needed_context
            log.error("vlm.context_too_small", has=has, needs=needs, advice=advice)

    def update_from_reply(self, worked: Abilities, *, of_form: bool = True) -> None:
        """Remember what a reply came for, and log it if it is new.

        Not `of_form`: the reply was text and tells nothing of the forms that the server takes.
        """
        worked = worked if of_form else replace(worked, schema=self.current.schema)
        if worked != self.current:
            log.info("vlm.abilities", probed=False, **worked.described)
        self.current, self.confirmed = worked, self.confirmed or of_form

    def reset(self) -> None:
        """Ask for everything again."""
        self.current, self.confirmed, self._probed_at = EVERYTHING, False, None


_QUIET_S = 30.0
"""After so long without a reply, and with no call under way, the model is asked for one token."""


class Liveness:
    """The last sign of life of one model. `failing`: its last word was a failure."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.failing = False
        self._clock = clock
        self._in_flight = 0
        self._answered_at = clock()

    @property
    def check_due(self) -> bool:
        """Return whether it is time to ask the model for one token."""
        return not self._in_flight and self._clock() - self._answered_at >= _QUIET_S

    @contextmanager
    def call(self) -> Iterator[None]:
        """Note a call in progress."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    def answered(self) -> None:
        self.failing = False
        self._answered_at = self._clock()

    def doubt(self) -> None:
        """Note that a call failed. The cause may be the call itself, so a check follows."""
        self._answered_at = -math.inf

    def failed(self) -> None:
        """Note that the server is unreachable, or that a check got no reply."""
        self.failing = True
        self.doubt()
