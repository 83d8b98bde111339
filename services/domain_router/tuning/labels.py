"""Domains as CRAG-MM's rows spell them: as names, or as codes of the dataset's own numbering."""

from collections.abc import Mapping, Sequence
from typing import Any

from contracts.domain_router import Domain

_NUMBERS = {domain.value: number for number, domain in enumerate(Domain)}


def domain_names(features: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What the codes of `turns.domain` mean, from a dataset's features as `datasets` writes them.

    The numbering differs between the single-turn and the multi-turn dataset, so there is no default.
    None when the column holds names already. Raises `ValueError` when there is no such column.
    """
    turns = _element(features.get("turns"))
    domain = _element(turns.get("domain")) if isinstance(turns, Mapping) else None
    if not isinstance(domain, Mapping):
        raise ValueError("the features have no column turns.domain")
    names = domain.get("names")
    return None if names is None else tuple(map(str, names))


def _element(feature: Any) -> Any:
    """What a list feature is a list of: `[x]`, or `{"feature": x, "_type": "Sequence" | "List" | ...}`."""
    while True:
        if isinstance(feature, list) and len(feature) == 1:
            feature = feature[0]
        elif isinstance(feature, Mapping) and "feature" in feature:
            feature = feature["feature"]
        else:
            return feature


def domain_number(value: str | int, names: Sequence[str] | None) -> int:
    """The place in `Domain`. Raises `ValueError` for an unknown name or a code that nothing explains."""
    if isinstance(value, int):
        if names is None:
            raise ValueError(f"the domain is the code {value}, and no features say what it means")
        if not 0 <= value < len(names):
            raise ValueError(f"the domain's code {value} is not among the {len(names)} of the features")
        value = names[value]
    plain = " ".join(value.casefold().replace("_", " ").replace("&", " and ").split())
    if plain not in _NUMBERS:
        raise ValueError(f"{value!r} is no domain of CRAG-MM")
    return _NUMBERS[plain]
