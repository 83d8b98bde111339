"""Cards that a training can be planned for, by their data sheets."""

from dataclasses import dataclass

from training.config import WrongConfig

GIB = 2**30


@dataclass(frozen=True, slots=True)
class Card:
    """`memory`: GiB that a process can have; `tflops`: dense, bfloat16; `bandwidth`: of memory, GB/s."""

    memory: float
    tflops: float
    bandwidth: float


CARDS = {
    "a100-80gb": Card(79.2, 312, 2039),
    "a800-80gb": Card(79.2, 312, 2039),
    "h100-80gb": Card(79.2, 989, 3350),
    "h200": Card(139.8, 989, 4800),
    "l40s": Card(44.5, 362, 864),
    "rtx-a6000": Card(47.5, 155, 768),
}


def card_of(name: str) -> Card:
    """Raises `WrongConfig` for one that is not known."""
    if name not in CARDS:
        raise WrongConfig(f"There are no figures for the card {name}; there are for {', '.join(CARDS)}.")
    return CARDS[name]
