"""Questions of every domain, which only the colour of the picture tells apart, and runs that train heads."""

import colorsys
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from contracts.domain_router import Domain
from training.config import Settings, dump_config
from training.runs import SUMMARY, RunFolder
from training.samples import DomainSample, Origin, Task, part_of, write_samples

QUESTIONS = ("What is this?", "Who made it?", "How old is that one?", "When was the thing built?")
_SIDE = 56


def coloured(domain: int, seed: int) -> NDArray[np.uint8]:
    """(56, 56, 3): a hue of its own for each domain, of varying brightness, under noise."""
    generator = np.random.default_rng([domain, seed])
    hue = (domain + generator.uniform(-0.08, 0.08)) / len(Domain)
    colour = 255 * np.array(colorsys.hsv_to_rgb(hue, 0.9, generator.uniform(0.85, 1.0)))
    noisy = colour + generator.normal(0, 6, (_SIDE, _SIDE, 3))
    return noisy.clip(0, 255).astype(np.uint8)


def write_domains(folder: Path, each: int, seed: int = 0) -> Path:
    """A data set of `each` questions of every domain, with photos of their own."""
    (folder / "photos").mkdir(parents=True, exist_ok=True)
    samples = []
    for number, domain in enumerate(Domain):
        for copy in range(each):
            name = f"{number}-{copy}"
            Image.fromarray(coloured(number, seed + copy)).save(folder / "photos" / f"{name}.png")
            samples.append(
                DomainSample(
                    id=name,
                    task=Task.DOMAIN,
                    part=part_of(name),
                    origin=Origin(run="colours", interaction_id=name, session_id=name),
                    photo=f"photos/{name}.png",
                    question=QUESTIONS[(number + copy) % len(QUESTIONS)],
                    domain=domain.value,
                )
            )
    write_samples(folder, Task.DOMAIN, samples)
    return folder


Config = TypeVar("Config", bound=Settings)


def begun(folder: Path, config: Settings) -> RunFolder:
    """A silent run in that folder, new or interrupted before."""
    run = RunFolder(folder, say=lambda _: None)
    run.begin(dump_config(config))
    return run


def trained(train: Callable[[Config, RunFolder], object], config: Config, folder: Path) -> RunFolder:
    """A run in that folder, which may be one that was broken off."""
    run = begun(folder, config)
    train(config, run)
    return run


def read_summary(run: RunFolder) -> dict[str, Any]:
    """What came out."""
    results: dict[str, Any] = json.loads((run.path / SUMMARY).read_text("utf-8"))
    return results
