"""What a server can do, found out by asking for everything and remembering what it refused.

One memory per server. A belief holds for some minutes, or until the server was away: another version may
have come back.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from gateway.llm.schema_forms import SchemaForm


@dataclass(frozen=True, slots=True)
class Abilities:
    """The optional parts of a request that a server takes."""

    form: SchemaForm = SchemaForm.FULL
    logprobs: bool = True
    usage: bool = True
    seed: bool = True


EVERYTHING = Abilities()

_LOGPROBS = re.compile(r"logprob", re.IGNORECASE)
_USAGE = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_SEED = re.compile(r"\bseed\b", re.IGNORECASE)
_FORM = re.compile(
    r"response_?format|json_?schema|json_object|schema|grammar|guided|structured|outlines", re.IGNORECASE
)


def without(asked: Abilities, complaint: str, *, proven: bool) -> Abilities | None:
    """What to ask instead, after a server refused with `complaint`; None when the fault lies elsewhere.

    A complaint that names no part is taken to be about the schema, unless such a request has worked before.
    """
    if asked.logprobs and _LOGPROBS.search(complaint):
        return replace(asked, logprobs=False)
    if asked.usage and _USAGE.search(complaint):
        return replace(asked, usage=False)
    if asked.seed and _SEED.search(complaint):
        return replace(asked, seed=False)
    lower = asked.form.next
    if lower is not None and (_FORM.search(complaint) or not proven):
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

    @property
    def proven(self) -> bool:
        """Whether the belief in the form comes from a reply."""
        return self._proven

    def believed(self) -> Abilities:
        """What to ask for now."""
        if self._learned_at is not None and self._clock() - self._learned_at > self._refresh_s:
            self.forget()
        return self._believed

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
        self._believed, self._learned_at, self._proven = EVERYTHING, None, False
