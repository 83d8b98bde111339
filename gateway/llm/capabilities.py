"""What a server can do: asked at start (`probe`), and learned from what it refuses.

One memory per server. What the probe found holds until it is asked again or the server was away. What was
learned without it holds for some minutes: another version may have come back.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from gateway.llm.schema_forms import SchemaForm


@dataclass(frozen=True, slots=True)
class Abilities:
    """The optional parts of a request that a server takes.

    `system`: a message of the role system beside a photo; where that is refused the text begins the user's.

    The rest is known after a probe only. `masked`: log probabilities are of the tokens that a held schema
    allows, not of all. `photos` in one request: 1, 2 for "more", 0 unknown. `context` in tokens, 0 unknown.
    """

    form: SchemaForm = SchemaForm.FULL
    logprobs: bool = True
    usage: bool = True
    seed: bool = True
    system: bool = True
    masked: bool = False
    photos: int = 0
    context: int = 0

    @property
    def described(self) -> dict[str, str]:
        """In words, for operators."""
        of_tokens = "of the tokens that the schema allows" if self.masked else "of all tokens"
        return {
            "schema": _HELD[self.form],
            "system_message": "beside a photo"
            if self.system
            else "refused beside a photo: in the user's turn",
            "token_probabilities": of_tokens if self.logprobs else "not told",
            "photos_a_request": {0: "unknown", 1: "1"}.get(self.photos, "several"),
            "context_tokens": str(self.context) if self.context else "not told",
        }


EVERYTHING = Abilities()

_HELD = {
    SchemaForm.FULL: "held",
    SchemaForm.PLAIN: "held without lengths and ranges",
    SchemaForm.OBJECT: "not held, only that it is JSON",
    SchemaForm.WORDS: "not held: asked for in labelled lines",
}
_LOGPROBS = re.compile(r"logprob", re.IGNORECASE)
_USAGE = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_SEED = re.compile(r"\bseed\b", re.IGNORECASE)
_SYSTEM = re.compile(
    r"system (?:message|role|prompt)|role.{0,16}\bsystem\b|roles must alternate", re.IGNORECASE
)
_FORM = re.compile(
    r"response_?format|json_?schema|json_object|schema|grammar|guided|structured|outlines", re.IGNORECASE
)
_PHOTO = re.compile(r"\bimages?\b|\bphotos?\b|image_url|multi-?modal|\btemplate", re.IGNORECASE)


def without(asked: Abilities, complaint: str, *, proven: bool) -> Abilities | None:
    """What to ask instead, after a server refused with `complaint`; None when the fault lies elsewhere.

    A complaint that names no part is taken to be about the schema, unless such a request has worked before.
    One about photos or the chat template is about nothing that could be left out.
    """
    if asked.logprobs and _LOGPROBS.search(complaint):
        return replace(asked, logprobs=False)
    if asked.usage and _USAGE.search(complaint):
        return replace(asked, usage=False)
    if asked.seed and _SEED.search(complaint):
        return replace(asked, seed=False)
    if asked.system and _SYSTEM.search(complaint):
        return replace(asked, system=False)
    lower = asked.form.next
    is_unnamed = not proven and not _PHOTO.search(complaint)
    if lower is not None and (_FORM.search(complaint) or is_unnamed):
        return replace(asked, form=lower)
    return None


class Capabilities:
    """The memory of one server. `proven`: a request in the believed form has worked."""

    def __init__(self, refresh_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._refresh_s = refresh_s
        self._clock = clock
        self._believed = EVERYTHING
        self._learned_at: float | None = None
        self._proven = False
        self._asked_at: float | None = None

    @property
    def proven(self) -> bool:
        """Whether the belief in the form comes from a reply."""
        return self._proven

    @property
    def asked(self) -> bool:
        """Whether a probe has found this out, and the server was not away since."""
        return self._asked_at is not None

    @property
    def masks_probabilities(self) -> bool:
        """Whether log probabilities are only of what a schema allows; before a probe, whether they may be."""
        believed = self.believed()
        return believed.masked if self.asked else believed.form.has_grammar

    @property
    def due(self) -> bool:
        """Whether it is time for a probe."""
        return self._asked_at is None or self._clock() - self._asked_at > self._refresh_s

    def believed(self) -> Abilities:
        """What to ask for now."""
        old = self._learned_at is not None and self._clock() - self._learned_at > self._refresh_s
        if old and not self.asked:
            self.forget()
        return self._believed

    def settle(self, found: Abilities) -> bool:
        """Believe what a probe found. True when it is news."""
        news = not self.asked or found != self._believed
        self._believed, self._proven = found, True
        self._learned_at = self._asked_at = self._clock()
        return news

    def learn(self, worked: Abilities, *, of_form: bool = True) -> bool:
        """Remember what a reply came for. True when it is news.

        Not `of_form`: the reply was text and tells nothing of the forms that the server takes.
        """
        worked = worked if of_form else replace(worked, form=self._believed.form)
        known = self._proven if of_form else self._learned_at is not None
        if known and worked == self._believed:
            return False
        news = worked != self._believed
        self._believed, self._learned_at = worked, self._clock()
        self._proven = self._proven or of_form
        return news

    def forget(self) -> None:
        """Ask for everything again."""
        self._believed, self._learned_at, self._proven, self._asked_at = EVERYTHING, None, False, None
