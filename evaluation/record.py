"""The stored form of a run: a header, and one record a turn that can be read without the dataset."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from evaluation.data.model import Part, Target, Truth, is_answerable
from loreglass_client.models import Answer, Trace


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RunHeader(_Kept):
    """The settings of a run. `name`: the system in reports, by default the pipeline's.

    `seed` and `limit` chose the conversations. `thresholds`: overrides sent with every question.
    `without`: modules of the pipeline that every question was answered without.
    `explained`: the gateway was asked for explanations and gave them.
    """

    name: str
    dataset: str
    fingerprint: str
    pipeline: str | None = None
    gateway: str = ""
    version: str = ""
    started_at: float = 0.0
    deadline_ms: int | None = None
    limit: int | None = None
    seed: int | None = None
    thresholds: dict[str, float] = {}
    without: list[str] = []
    explained: bool = False
    rejected: dict[str, int] = {}
    settings: dict[str, Any] = {}


class TurnRecord(_Kept):
    """One question as it was asked, and the reply.

    `place`: the conversation's in the dataset; `turn`: the question's in the conversation; both from 0.
    `photo`: a path, relative to the run's folder where it lies below it; empty where there was none.
    `error`: the kind of the problem where there is no answer. `client_ms`: as the caller saw it.
    `asked_again`: requests before this one that were turned away as overloaded.
    """

    interaction_id: str
    session_id: str
    part: Part
    turn: int
    place: int = 0
    photo: str
    question: str
    gold: str
    domain: str = ""
    query_category: str = ""
    dynamism: str = ""
    image_quality: str = ""
    image_kind: str = ""
    truth: Truth | None = None
    target: Target | None = None
    answer: Answer | None = None
    trace: Trace | None = None
    error: str | None = None
    client_ms: float = 0.0
    asked_again: int = 0

    @property
    def reference(self) -> str:
        """The way in which the question refers to its object; empty if unknown."""
        return self.target.reference if self.target else ""

    @property
    def answerable(self) -> bool:
        """See `is_answerable`."""
        return is_answerable(self.truth)
