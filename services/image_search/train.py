"""`python -m services.image_search.train`: draws pictures, fits the artefact, says what it reaches.

Needs the dependency group `dev`. The same seed gives the same artefact on the same versions.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from services.image_search.classical.artefact import DEFAULT_ARTEFACT, Artefact, save
from services.image_search.classical.calibration import GEOMETRY, PRINT, Calibration
from services.image_search.classical.features import DescribeOptions, LocalFeatures, describe
from services.image_search.training.album import Picture, album
from services.image_search.training.fit import Described, Pair, fit_calibration, fit_vlad, pairs

STRANGERS = 8
CLAIM = 0.5


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and write the artefact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", type=int, default=120, help="drawn things, each with its siblings")
    parser.add_argument("--words", type=int, default=64)
    parser.add_argument("--size", type=int, default=256, help="numbers in a photo's vector")
    parser.add_argument("--out", type=Path, default=DEFAULT_ARTEFACT)
    chosen = parser.parse_args(arguments)
    cv2.setRNGSeed(chosen.seed)
    pictures = describe_album(chosen.seed, chosen.families)
    say(f"{len(pictures)} pictures drawn and described")
    vlad = fit_vlad(pictures, chosen.words, chosen.size, chosen.seed)
    sample = pairs(pictures, STRANGERS, chosen.seed)
    held_out = set(_families(sample, chosen.seed))
    known = [pair for pair in sample if pair.family not in held_out]
    report(fit_calibration(known), [pair for pair in sample if pair.family in held_out])
    calibration = fit_calibration(sample)
    for names, model in ((GEOMETRY, calibration.geometry), (PRINT, calibration.whole_print)):
        weights = " ".join(f"{name} {weight:+.2f}" for name, weight in zip(names, model.weights, strict=True))
        say(f"{weights} bias {model.bias:+.2f}")
    save(Artefact(vlad, calibration), chosen.out)
    say(f"{chosen.out.name}: {chosen.out.stat().st_size / 1e6:.2f} MB")


def describe_album(seed: int, families: int) -> list[Described]:
    """Draw the album and keep the features only."""
    options = DescribeOptions()
    described = []
    for number, picture in enumerate(album(seed, families)):
        features = describe(picture.photo, options)
        described.append(_described(picture, features))
        if number % 100 == 99:
            say(f"  {number + 1} pictures")
    return described


def _described(picture: Picture, features: LocalFeatures) -> Described:
    return Described(picture.thing, picture.family, picture.print_run, picture.catalogue, features)


def report(calibration: Calibration, held_out: Sequence[Pair]) -> None:
    """Per kind, how many pairs of families that the fit has not seen are claimed to be the same."""
    say(f"claimed at {CLAIM} on held-out families: same thing / sibling / stranger (highest stranger)")
    for kind in sorted({pair.family.split("-")[0] for pair in held_out}):
        chosen = [pair for pair in held_out if pair.family.startswith(kind)]
        groups = (
            [calibration.probability(pair.evidence) for pair in chosen if pair.same],
            [calibration.probability(pair.evidence) for pair in chosen if pair.siblings],
            [
                calibration.probability(pair.evidence)
                for pair in chosen
                if not pair.same and not pair.siblings
            ],
        )
        rates = " / ".join(f"{np.mean(np.array(group) >= CLAIM):6.1%} of {len(group)}" for group in groups)
        say(f"  {kind:9s} {rates} ({max(groups[2]):.2f})")


def say(line: str) -> None:
    """One line of progress."""
    sys.stderr.write(line + "\n")


def _families(sample: Sequence[Pair], seed: int) -> list[str]:
    """A third of the families, to be held out."""
    names = sorted({pair.family for pair in sample})
    chosen = np.random.default_rng(seed).permutation(len(names))[: len(names) // 3]
    return [names[index] for index in chosen]


if __name__ == "__main__":
    main()
