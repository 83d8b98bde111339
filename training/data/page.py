"""A page of samples to look at before anything is trained on them."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from training.pages import page, photo
from training.samples import (
    INDEX,
    REJECTED,
    ConversationSample,
    DomainSample,
    DraftSample,
    Message,
    PassagesSample,
    QuestionSample,
    Sample,
    Task,
    UnreadableData,
    read_samples,
    replace_text,
)

PAGE = "samples.html"
_OF_EACH = 4
_MOST_REJECTED = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """A sample for people. `said`: who said what, with the photo's place; `facts`: by name."""

    sample: Sample
    title: str
    photo: Markup
    said: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


def write_page(folder: Path) -> Path:
    """Some samples of each task and kind of label, drawn with a seed, beside counts and faults."""
    told = json.loads((folder / INDEX).read_text("utf-8"))
    tasks = {
        task: [_shown(folder, sample) for sample in some(reading.samples)]
        for task in map(Task, told["counts"])
        if (reading := read_samples(folder, task)).samples
    }
    rejected = [json.loads(line) for line in (folder / REJECTED).read_text("utf-8").splitlines()]
    values = {"told": told, "tasks": tasks, "rejected": rejected[:_MOST_REJECTED], "left": len(rejected)}
    replace_text(folder / PAGE, page("samples.html.j2", values))
    return folder / PAGE


def some(samples: Sequence[Sample], each: int = _OF_EACH) -> list[Sample]:
    """So many of each kind of label and of each part."""
    kinds: dict[Any, list[Sample]] = {}
    for sample in samples:
        source = sample.source if isinstance(sample, ConversationSample) else None
        kinds.setdefault((sample.part, source), []).append(sample)
    drawn = random.Random(0)
    return [sample for kind in kinds.values() for sample in drawn.sample(kind, min(each, len(kind)))]


def _shown(folder: Path, sample: Sample) -> Shown:
    origin, said, title = sample.origin, tuple[tuple[str, str], ...](), ""
    facts = [("part", sample.part.value), ("from", f"{origin.run}, interaction {origin.interaction_id}")]
    match sample:
        case ConversationSample():
            title = sample.question
            said = tuple((message.role, _text(message)) for message in sample.messages)
            said = (*said, ("to be written", sample.label))
            facts += [("label", sample.source.value), ("gold", sample.gold)]
            facts += [("base model wrote", sample.reply)] if sample.reply.strip() != sample.label else []
        case QuestionSample():
            title = sample.question
            roles = ("earlier question", "answer then")
            said = tuple(turn for pair in sample.history for turn in zip(roles, pair, strict=True))
            facts += [("gold", sample.gold), ("accepted", "; ".join(sample.accepted))]
            facts += [("article", sample.article)]
        case DomainSample():
            title, facts = sample.question, [*facts, ("domain", sample.domain)]
        case DraftSample():
            title = "right" if sample.right else "wrong"
            facts += [(name, f"{value:.3f}") for name, value in sample.features.items()]
        case PassagesSample():
            title = sample.question
            said = (("helps", sample.positive), *(("does not help", text) for text in sample.negatives[:2]))
        case _:
            raise UnreadableData(f"{sample.task.value} has no page.")
    return Shown(sample, title, photo(folder, sample.photo), said, tuple(facts))


def _text(message: Message) -> str:
    return "".join("[photo]\n" if piece.type == "image" else piece.text for piece in message.content)
