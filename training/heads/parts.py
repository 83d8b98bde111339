"""The samples of a head's task, split into training, validation and held-out parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from chassis.errors import LoreglassError
from chassis.pixels import decode_rgb
from chassis.rgb import RGB
from training.config import WrongConfig
from training.samples import Part, RejectedRow, Sample, Task, part_of, read_folders

Kind = TypeVar("Kind", bound=Sample)


@dataclass(frozen=True, slots=True)
class Parts(Generic[Kind]):
    """`samples` and their `photos` in the files' order; places of each part."""

    samples: tuple[Kind, ...]
    photos: tuple[Path | None, ...]
    training: tuple[int, ...]
    validation: tuple[int, ...]
    held_out: tuple[int, ...]
    rejected: tuple[RejectedRow, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """Return the size of each part."""
        return {name: len(getattr(self, name)) for name in ("training", "validation", "held_out")}


def read_parts(folders: Sequence[Path], task: Task, validation: float, seed: int) -> "Parts[Sample]":
    """Read samples; those about one photo share a part. Raises `UnreadableData` and `WrongConfig`."""
    pairs, rejected = read_folders(folders, task)
    places: dict[str, list[int]] = {"training": [], "validation": [], "held_out": []}
    for place, (sample, _) in enumerate(pairs):
        key = sample.photo or f"{sample.origin.run} {sample.origin.session_id}"
        chooses = part_of(f"validation {key}", seed, validation) is Part.HELD_OUT
        held_out = sample.part is Part.HELD_OUT
        places["held_out" if held_out else "validation" if chooses else "training"].append(place)
    if not all(places.values()):
        empty = ", ".join(name for name, part in places.items() if not part)
        raise WrongConfig(f"{len(pairs)} samples are too few: nothing is left for {empty}.")
    samples, photos = zip(*pairs, strict=True)
    return Parts(
        samples, photos, **{name: tuple(part) for name, part in places.items()}, rejected=tuple(rejected)
    )


def pixels(photo: Path, side: int) -> RGB:
    """Decode a photo as the service does. Raises `WrongConfig`."""
    try:
        return decode_rgb(photo.read_bytes(), max_side=side)
    except LoreglassError as error:
        raise WrongConfig(f"{photo} cannot be decoded: {error.detail}") from error
