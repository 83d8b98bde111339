"""`samples.md`: counts and some samples, to look at before anything is trained on them."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.markdown import bullets, quoted, table
from training.samples import (
    INDEX,
    REJECTED,
    ConversationSample,
    Sample,
    Task,
    read_samples,
    replace_text,
)

PAGE = "samples.md"
_OF_EACH, _MOST_REJECTED = 4, 50
_HIDDEN = frozenset({"id", "task", "origin", "photo", "messages", "part", "truth"})


def write_page(folder: Path) -> Path:
    """Write some samples of each task and kind of label, drawn with a seed, beside counts and faults."""
    made = json.loads((folder / INDEX).read_text("utf-8"))
    lines = ["# Samples to train on", "", f"Judged by {quoted(made['judge'])}.", ""]
    lines += bullets(map(quoted, made["faults"]))
    lines += table(
        ("task", "samples", "not used"),
        ((task, _told(counts), _told(made["unused"][task])) for task, counts in made["counts"].items()),
    )
    for task in map(Task, made["counts"]):
        samples = _some(read_samples(folder, task).samples)
        lines += [f"## {task.value}", ""] if samples else []
        for sample in samples:
            lines += _shown(sample)
    rejected = [json.loads(line) for line in (folder / REJECTED).read_text("utf-8").splitlines()]
    lines += [f"## Left out: {len(rejected)}", ""] if rejected else []
    lines += table(
        ("where", "why"), ((quoted(each["where"]), quoted(each["why"])) for each in rejected[:_MOST_REJECTED])
    )
    replace_text(folder / PAGE, "\n".join(lines))
    return folder / PAGE


def _some(samples: Sequence[Sample]) -> list[Sample]:
    """A few of each kind of label and of each part."""
    kinds: dict[Any, list[Sample]] = {}
    for sample in samples:
        source = sample.source if isinstance(sample, ConversationSample) else None
        kinds.setdefault((sample.part, source), []).append(sample)
    drawn = random.Random(0)
    return [each for kind in kinds.values() for each in drawn.sample(kind, min(_OF_EACH, len(kind)))]


def _shown(sample: Sample) -> Iterator[str]:
    yield f"**{sample.part.value}**, from {quoted(sample.origin.run)}, {quoted(sample.origin.interaction_id)}"
    yield from ("", f"![photo]({sample.photo})", "") if sample.photo else ("",)
    messages = sample.messages if isinstance(sample, ConversationSample) else ()
    said = [(message.role, " ".join(piece.text for piece in message.content)) for message in messages]
    fields = sample.model_dump(mode="json", exclude=set(_HIDDEN), exclude_defaults=True)
    yield from bullets(f"{name}: {quoted(str(text))}" for name, text in [*said, *fields.items()])


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "–"
