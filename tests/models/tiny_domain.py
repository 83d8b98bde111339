"""Rows in CRAG-MM's schema, where the colour of the picture tells the domain."""

import colorsys
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from contracts.domain_router import Domain

QUESTIONS = ("What is this?", "Who made it?", "How old is that one?", "When was the thing built?")
_SIDE = 56


def coloured(domain: int, seed: int) -> NDArray[np.uint8]:
    """(56, 56, 3): a hue of its own for each domain, of varying brightness, under noise."""
    generator = np.random.default_rng([domain, seed])
    hue = (domain + generator.uniform(-0.08, 0.08)) / len(Domain)
    colour = 255 * np.array(colorsys.hsv_to_rgb(hue, 0.9, generator.uniform(0.85, 1.0)))
    noisy = colour + generator.normal(0, 6, (_SIDE, _SIDE, 3))
    return noisy.clip(0, 255).astype(np.uint8)


def write_rows(folder: Path, each: int, seed: int = 0) -> Path:
    """`each` rows of every domain with their pictures as files; the JSONL file."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, domain in enumerate(Domain):
        for copy in range(each):
            name = f"{number}-{copy}.png"
            Image.fromarray(coloured(number, seed + copy)).save(folder / name)
            question = QUESTIONS[(number + copy) % len(QUESTIONS)]
            turns = {"interaction_id": [name], "domain": [domain.value], "query": [question]}
            lines.append(json.dumps({"session_id": name, "image": name, "image_url": None, "turns": turns}))
    path = folder / "rows.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
