"""A question as the routes hand it to the execution."""

import hashlib
import json
from dataclasses import dataclass

from contracts.answer import Experiment
from gateway.pipelines.port import Pipeline
from gateway.serving.sessions import Session
from gateway.serving.tenants import PUBLIC, Caller
from gateway.speech.audio import Sound
from gateway.state import Photo, Priority, Query

ANYBODY = Caller(PUBLIC, Priority.INTERACTIVE)


@dataclass(frozen=True, slots=True)
class Question:
    """A caller's question, checked and decoded. `deadline_ms`: as the caller set it.

    `carried`: the conversation, for callers that store it themselves and send it along; it has no id and
    is not remembered. `sound`: a recording, whose words are the question, or come behind it.
    `instructions`: how the caller wants answers worded. `unread`: names of fields that came with the question
    and are ignored, for `degraded`. `experiment`: one that the operator allows. `opens_session`: if there is
    no session of this id, the question begins one.
    """

    text: str
    photo: Photo | None
    session_id: str | None
    deadline_ms: int
    pipeline: str
    carried: Session | None = None
    instructions: str = ""
    unread: tuple[str, ...] = ()
    caller: Caller = ANYBODY
    experiment: Experiment | None = None
    opens_session: bool = False
    sound: Sound | None = None

    @property
    def digest(self) -> str:
        """SHA-256, hex, of the question; the caller and its deadline are no part of it."""
        experiment = self.experiment.model_dump() if self.experiment else None
        photo = self.photo.digest if self.photo else None
        sound = self.sound.digest if self.sound else None
        parts = (self.text, sound, photo, self.session_id, self.pipeline, experiment)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def to_query(self, session: Session) -> Query:
        """Return what a pipeline is to answer: the question with what the conversation knows."""
        remembered = self.carried is None
        return Query(
            question=self.text,
            photo=self.photo or session.photo,
            photo_is_new=self.photo is not None,
            # Of a session, a turn without a question is one that was not heard.
            history=tuple(turn for turn in session.turns if turn.question or not remembered),
            instructions=self.instructions,
        )


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question that will be answered. `pipeline`: as the question's experiment varies it."""

    question: Question
    pipeline: Pipeline
    session: Session
