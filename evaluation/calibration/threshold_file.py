"""The thresholds file that a gateway reads: one to start from, and one with what was chosen."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from evaluation.calibration.replay import CalibrationError

VERSION = "version"
TABLES: Mapping[str, tuple[str, ...]] = {
    "search_router": ("direct_confidence", "direct_from", "verify_from"),
    "image_search": ("same_thing", "decisive"),
    "evidence": ("tau_coarse", "tau_fine"),
    "answer": ("answer_confidence", "supported", "borderline", "judged", "token_min", "token_mean"),
}
_MEANINGS: Mapping[str, str] = {
    "search_router": "which branch (QA-Dragon, section 3.2, Table 1)",
    "image_search": "which thing (3.4)",
    "evidence": "what is read (3.6.2)",
    "answer": "what is believed (3.7.2)",
}
_FURTHER = "further"
_WIDTH = 112
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Base:
    """What the chosen values replace."""

    version: int
    values: Mapping[str, float]


def read_base(path: Path) -> Base:
    """A thresholds file. Raises `CalibrationError` when it is none."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read; --base names the gateway's file.") from error
    except ValueError as error:
        raise CalibrationError(f"{path} is not TOML: {error}.") from error
    flat: dict[str, object] = {}
    for key, value in content.items():
        flat.update(value if isinstance(value, dict) else {key: value})
    version = flat.pop(VERSION, None)
    numbers = {name: float(value) for name, value in flat.items() if isinstance(value, int | float)}
    if not isinstance(version, int) or len(numbers) < len(flat):
        raise CalibrationError(f"{path} is not a thresholds file: it holds a version and numbers.")
    return Base(version, numbers)


def render(values: Mapping[str, float], base: Base, comments: Sequence[str]) -> str:
    """All values by table, the version raised by one; what differs from the base says what it was."""
    lines = [f"# {line}" for comment in comments for line in wrap(plain(comment, _LONGEST), _WIDTH - 2)]
    lines.append(f"{VERSION} = {base.version + 1}")
    known = {name for names in TABLES.values() for name in names}
    tables = {**TABLES, _FURTHER: tuple(name for name in values if name not in known)}
    for table, names in tables.items():
        present = [name for name in names if name in values]
        if present:
            meaning = f"  # {_MEANINGS[table]}" if table in _MEANINGS else ""
            lines += ["", f"[{table}]{meaning}", *(_line(name, values[name], base) for name in present)]
    return "\n".join(lines) + "\n"


def write_once(path: Path, text: str, *, overwrite: bool) -> None:
    """All of it or nothing. Raises `CalibrationError` rather than replace a file unasked."""
    if path.exists() and not overwrite:
        raise CalibrationError(f"{path} is there already; --overwrite replaces it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".new")
    half.write_text(text, encoding="utf-8")
    os.replace(half, path)


def _line(name: str, value: float, base: Base) -> str:
    before = base.values.get(name)
    was = f"  # was {before!r}" if before is not None and before != value else ""
    return f"{name} = {float(value)!r}{was}"


def plain(text: str, longest: int = _WIDTH) -> str:
    """One line of printable characters: a comment ends with its line, and datasets have any names."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:longest]
