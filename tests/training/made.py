"""Made-up data sets and settings for tests that train tiny models."""

from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from tests.models.tiny_domain import begun
from training.runs import RunFolder
from training.samples import (
    ConversationSample,
    Label,
    Message,
    Origin,
    Part,
    Piece,
    Task,
    digest,
    write_samples,
)
from training.sft import SftConfig, finetune

SYSTEM = "You see for someone who wears camera glasses."


def photo(folder: Path, number: int) -> str:
    """A photo of its own colour and shape, in the folder's `photos`; its name there."""
    (folder / "photos").mkdir(parents=True, exist_ok=True)
    picture = Image.new("RGB", (80, 60), (number * 31 % 256, 255 - number * 31 % 256, number * 77 % 256))
    ImageDraw.Draw(picture).rectangle((number * 5 % 60, 10, number * 5 % 60 + 15, 45), fill="white")
    name = f"photos/{number}.png"
    picture.save(folder / name)
    return name


def conversation(
    folder: Path, number: int, task: Task, label: str, part: Part = Part.TRAIN, **varied: Any
) -> ConversationSample:
    """A chat about photo `number` with the label to learn."""
    question = f"{task.value}: what is number {number}? " * 3
    user = Message(role="user", content=(Piece(type="image"), Piece(type="text", text=question)))
    system = Message(role="system", content=(Piece(type="text", text=SYSTEM),))
    given: dict[str, Any] = {
        "id": digest("made", task.value, str(number)),
        "task": task,
        "part": part,
        "origin": Origin(run="made", interaction_id=str(number), session_id=str(number)),
        "photo": photo(folder, number),
        "messages": (system, user),
        "label": label,
        "source": Label.OWN,
        "question": f"What is number {number}?",
        "gold": label,
    }
    return ConversationSample(**(given | varied))


LABELS = {
    Task.QUERY: lambda number: f'{{"query": "the red tower {number} built by Ada"}}',
    Task.RERANK: lambda number: f'{{"relevant": [{number + 1}, {number + 3}]}}',
    Task.ANSWER: lambda number: f"The tower was built in 19{number * 7:02d}.",
}


def three_tasks(folder: Path, each: int = 8, held_out: int = 0) -> Path:
    """So many samples of each of BlackPearl's tasks, the last `held_out` of them held out."""
    for task, label in LABELS.items():
        parts = [Part.TRAIN] * (each - held_out) + [Part.HELD_OUT] * held_out
        samples = [conversation(folder, n, task, label(n), part) for n, part in enumerate(parts)]
        write_samples(folder, task, samples)
    return folder


def sft_config(data: Path, weights: Path, **varied: Any) -> SftConfig:
    """Settings under which a tiny model learns a few samples by heart."""
    given: dict[str, Any] = {
        "data": [data],
        "model": {"weights": str(weights), "dtype": "float32", "gradient_checkpointing": False},
        "lora": {"rank": 16, "alpha": 32, "dropout": 0.0},
        "epochs": 1,
        "learning_rate": 5e-3,
        "schedule": "constant",
        "batch_size": 8,
        "device_batch_size": 8,
        "log_every": 10,
        "checkpoint_every": 1000,
    }
    return SftConfig.model_validate(given | varied)


def trained(config: SftConfig, folder: Path) -> RunFolder:
    run = begun(folder, config)
    finetune(config, run)
    return run
