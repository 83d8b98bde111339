"""One answered question of an evaluation run: the model's calls, the photo, the part."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chassis.errors import LoreglassError
from chassis.images import ImageLimits, clean_image
from evaluation.data.opening import open_dataset
from evaluation.record import RunHeader, TurnRecord
from evaluation.runs.asking import unasked
from evaluation.runs.store import HEADER, Run, load_run
from gateway.settings import GatewaySettings
from loreglass_client.models import ModelCall
from training.samples import (
    MOST_TEXT,
    Message,
    Origin,
    Part,
    Piece,
    RejectedRow,
    UnreadableData,
    part_of,
)

MOST_GOLD_WORDS = 400
"""Words of a gold answer. Turns with longer ones are rejected."""
_LIMITS = ImageLimits()
_PHOTO_SIDE: int = GatewaySettings.model_fields["photo_max_side"].default


class BrokenTurn(Exception):
    """A turn is unusable; the message says why."""


@dataclass(frozen=True, slots=True)
class RunTurn:
    """`run`: the run's folder name; `photo`: below the data set's folder, empty without one."""

    run: Run
    record: TurnRecord
    photo: str
    part: Part
    history: tuple[tuple[str, str], ...]

    @property
    def origin(self) -> Origin:
        return origin_of(self.run, self.record)

    def calls(self, prompt: str) -> list[ModelCall]:
        """Return the calls of a prompt, in the order in which they ended."""
        explanation = self.record.answer.explanation if self.record.answer else None
        return [call for call in explanation.model_calls if call.prompt == prompt] if explanation else []

    def note(self, stage: str, begins: str) -> str:
        """Return the text behind `begins` in a stage's notes, or an empty string."""
        explanation = self.record.answer.explanation if self.record.answer else None
        notes = [note.text for note in explanation.notes if note.stage == stage] if explanation else []
        return next((text.rpartition(begins)[2] for text in notes if begins in text), "")


def run_identity(run: Run) -> tuple[str, str, str]:
    """Return what identifies a run: folders of two runs may have the same name."""
    return run.header.dataset, run.folder.name, str(run.header.started_at)


def origin_of(run: Run, record: TurnRecord) -> Origin:
    return Origin(
        run=run.folder.name,
        interaction_id=record.interaction_id,
        session_id=record.session_id,
        turn=record.turn,
    )


def messages_of(call: ModelCall) -> tuple[Message, ...]:
    """Return a call's messages in the form of samples. Raises `BrokenTurn`."""
    if sum(len(part.text) for message in call.messages for part in message.content) > MOST_TEXT:
        raise BrokenTurn(f"its {call.prompt} prompt is longer than {MOST_TEXT} characters")
    try:
        return tuple(
            Message(
                role=message.role,
                content=tuple(Piece(type=part.type, text=part.text) for part in message.content),
            )
            for message in call.messages
        )
    except ValueError as error:
        raise BrokenTurn(f"its {call.prompt} prompt is no chat") from error


@dataclass(slots=True)
class Album:
    """Writes the photos of a data set as the gateway sends them to the model, each once."""

    folder: Path
    seed: int
    held_out: float
    _known: dict[Path, str] = field(default_factory=dict)

    def turns(self, run: Run) -> Iterator[RunTurn | RejectedRow]:
        """Yield the run's turns in order, or the reason in place of a broken one.

        The history holds the answers, or the gold answers of a data set.
        """
        earlier: dict[str, list[tuple[str, str]]] = {}
        for record in run.records:
            history = tuple(earlier.setdefault(record.session_id, []))
            try:
                yield self._turn(run, record, history)
            except BrokenTurn as error:
                yield rejected_row(run, record, str(error))
            answered = record.answer.answer if record.answer else "" if record.error else record.gold
            if answered:
                earlier[record.session_id].append((record.question, answered))

    def _turn(self, run: Run, record: TurnRecord, history: tuple[tuple[str, str], ...]) -> RunTurn:
        words = len(record.gold.split())
        if words > MOST_GOLD_WORDS:
            raise BrokenTurn(f"its gold answer has {words} words; at most {MOST_GOLD_WORDS} can be scored")
        photo = self._photo(run.photo(record)) if record.photo else ""
        key = photo or f"{run.header.dataset} {record.session_id}"
        return RunTurn(run, record, photo, part_of(key, self.seed, self.held_out), history)

    def _photo(self, path: Path) -> str:
        if path not in self._known:
            try:
                clean = clean_image(path.read_bytes(), _LIMITS, _PHOTO_SIDE)
            except OSError as error:
                raise BrokenTurn(f"its photo {path.name} cannot be read: {error.strerror}") from error
            except LoreglassError as error:
                raise BrokenTurn(f"its photo {path.name}: {error.detail}") from error
            name = f"photos/{clean.digest[:24]}.jpg"
            place = self.folder / name
            if not place.exists():
                place.parent.mkdir(exist_ok=True)
                half = place.with_suffix(".partial")
                half.write_bytes(clean.jpeg)
                half.replace(place)
            self._known[path] = name
        return self._known[path]


def open_source(source: str, split: str | None) -> Run:
    """Open a run, or a data set as a run without answers. `source`: as `eval run` takes it.

    Raises `RunError` and `DatasetError`.
    """
    if (Path(source) / HEADER).is_file():
        return load_run(Path(source))
    dataset = open_dataset(source, split=split)
    header = RunHeader(name="", dataset=dataset.name, fingerprint=dataset.fingerprint)
    records = tuple(
        unasked(conversation, place, number)
        for place, conversation in enumerate(dataset.conversations)
        for number in range(len(conversation.turns))
    )
    return Run(header, records, Path(dataset.name), dataset.rejected)


def rejected_row(run: Run, record: TurnRecord, why: str) -> RejectedRow:
    return RejectedRow(where=f"{run.folder.name}, interaction {record.interaction_id}", why=why)


def require_calls(run: Run) -> None:
    """Raise `UnreadableData` for a run without the model's prompts."""
    if not run.header.settings.get("model_calls"):
        raise UnreadableData(
            f"{run.folder} does not hold what the model was asked: "
            "ask again with `loreglass eval run … --model-calls`."
        )
