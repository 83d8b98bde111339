"""Training, validation and held-out parts: by session, in each domain's proportion."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.domain_router.tuning.rows import Example


@dataclass(frozen=True, slots=True)
class Shares:
    """Of the sessions; the rest is trained on."""

    validation: float = 0.15
    held_out: float = 0.15


@dataclass(frozen=True, slots=True)
class Split:
    """Places in the list of examples, ascending. `validation` chooses, `held_out` is only measured on."""

    training: tuple[int, ...]
    validation: tuple[int, ...]
    held_out: tuple[int, ...]


def stratified(examples: Sequence[Example], shares: Shares, seed: int) -> Split:
    """Questions about one photo stay together, in the stratum of the session's first domain.

    A domain of one or two sessions is trained on; of three or more, each part that has a share gets one.
    """
    sessions: dict[str, list[int]] = {}
    for place, example in enumerate(examples):
        sessions.setdefault(example.session, []).append(place)
    strata: dict[int, list[list[int]]] = {}
    for places in sessions.values():
        strata.setdefault(examples[places[0]].domain, []).append(places)
    generator = np.random.default_rng(seed)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for domain in sorted(strata):
        shuffled = [strata[domain][place] for place in generator.permutation(len(strata[domain]))]
        validation = _count(shares.validation, len(shuffled))
        held_out = min(_count(shares.held_out, len(shuffled)), max(0, len(shuffled) - validation - 1))
        chosen = (shuffled[validation + held_out :], shuffled[:validation], shuffled[validation:][:held_out])
        for part, members in zip(parts, chosen, strict=True):
            part.extend(place for places in members for place in places)
    return Split(*(tuple(sorted(part)) for part in parts))


def _count(share: float, sessions: int) -> int:
    return min(max(1, round(share * sessions)), sessions - 2) if share and sessions >= 3 else 0
