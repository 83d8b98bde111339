"""The cut-offs of the pipelines: one versioned file, read once, so that calibration can replace it."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from chassis.startup import WrongSettings

PACKAGED = Path(__file__).with_suffix(".toml")
VERSION = "version"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probabilities in 0..1; `thresholds.toml` has each value and its source; `version` is that file's.

    `direct_confidence`: a draft less sure of itself is not answered at once. `direct_from`, `verify_from`:
    the search router's two probabilities from which its branch is taken.
    `same_thing`: an image hit is a candidate from here on. `decisive`: no crops are searched from here on.
    `tau_coarse`, `tau_fine`: the reranker's two cut-offs (QA-Dragon, section 3.6.2).
    `answer_confidence`: below it the reasoner's answer is "I don't know".
    `supported`: the verifier's probability below which an answer is refused; between it and
    `borderline` the model judge is asked, if time remains. `judged`: what the judge must reach.
    `token_min`, `token_mean`: the white-box verifier's thresholds (QA-Dragon, section 4.3).
    """

    version: int
    direct_confidence: float
    direct_from: float
    verify_from: float
    same_thing: float
    decisive: float
    tau_coarse: float
    tau_fine: float
    answer_confidence: float
    supported: float
    borderline: float
    judged: float
    token_min: float
    token_mean: float

    @property
    def relevant(self) -> float:
        """Evidence is kept from here on (section 3.6.2)."""
        return self.tau_coarse * self.tau_fine

    def with_overrides(self, values: Mapping[str, float]) -> "Thresholds":
        """These with some others. Raises `ValueError`, which names the first that is wrong."""
        known = [field.name for field in fields(self) if field.name != VERSION]
        for name in values:
            if name not in known:
                raise ValueError(f"there is no threshold {name[:40]!r}")
        shares: dict[str, Any] = {name: _share(name, value) for name, value in values.items()}
        changed = replace(self, **shares)
        _in_order(changed.supported, changed.borderline)
        return changed


def load_thresholds(path: Path | None = None) -> Thresholds:
    """Those of the file, or the packaged ones. Raises `WrongSettings` if it cannot be used."""
    source = path or PACKAGED
    try:
        content = tomllib.loads(source.read_text("utf-8"))
    except OSError as error:
        raise WrongSettings(f"The thresholds file {source} cannot be read.") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise WrongSettings(f"The thresholds file {source} is not TOML: {error}.") from error
    try:
        return Thresholds(**_checked(content))
    except ValueError as error:
        raise WrongSettings(f"The thresholds file {source} cannot be used: {error}.") from error


def _checked(content: Mapping[str, Any]) -> dict[str, Any]:
    """All values by name. Raises `ValueError` for the first thing that is wrong."""
    known = [field.name for field in fields(Thresholds)]
    values = dict(_values(content))
    for name in values:
        if name not in known:
            raise ValueError(f"there is no threshold {name}")
    for name in known:
        if name not in values:
            raise ValueError(f"{name} is missing")
    version = values[VERSION]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError(f"version must be a whole number from 1, not {version!r}")
    shares = {name: _share(name, value) for name, value in values.items() if name != VERSION}
    _in_order(shares["supported"], shares["borderline"])
    return {VERSION: version, **shares}


def _in_order(supported: float, borderline: float) -> None:
    if borderline < supported:
        raise ValueError("borderline must not be below supported")


def _values(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name and value of every entry; the tables are for the reader, but no name may stand in two."""
    seen: set[str] = set()
    for key, value in content.items():
        for name, entry in value.items() if isinstance(value, dict) else [(key, value)]:
            if name in seen:
                raise ValueError(f"{name} is given twice")
            seen.add(name)
            yield name, entry


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be a number in 0..1, not {value!r}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Depths:
    """How much is looked at: candidates, crops, hits, chunks; what of a search is kept unranked.

    `chunks_to_judge`: how many of the reranked chunks its second, costlier model reads (the cascade's K1).
    """

    image_hits: int = 5
    crops: int = 4
    text_hits: int = 10
    chunks_to_rerank: int = 60
    chunks_to_judge: int = 32
    chunks_to_keep: int = 12
    leading_facts: int = 16
    leading_chunks: int = 8
