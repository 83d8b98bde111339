"""The table, and what is saved of a failure: the bytes, and the command that sends them again."""

from collections.abc import Sequence
from pathlib import Path

from bench.figures import Table, number
from tests.attacks.planted import digest
from tests.attacks.running import LATE_S, Failure, Result

_MOST_SAVED = 20
_HEADERS = (
    "class",
    "inputs",
    "2xx",
    "4xx",
    "500s",
    "503, 504",
    "no answer",
    f"refused after {LATE_S:g} s",
    "leaks",
    "MiB before",
    "peak",
    "after",
    "services' peak",
    "descriptors",
    "slowest other s",
    "slowest ready s",
    "seconds",
    "holds",
)


def table(results: Sequence[Result]) -> Table:
    """A row a class."""
    return Table(_HEADERS, tuple(_row(each) for each in results))


def _row(each: Result) -> tuple[str, ...]:
    busy = each.statuses[503] + each.statuses[504]
    counts = (
        each.inputs,
        each.of(2),
        each.of(4),
        each.of(5) - busy,
        busy,
        each.silent,
        each.late,
        each.leaks,
    )
    sizes = (each.before_mib, each.peak_mib, each.after_mib, each.services_mib)
    return (
        each.name,
        *(f"{count:,}" for count in counts),
        *(number(size, 0) for size in sizes),
        "/".join(map(str, each.descriptors)),
        number(each.waits.slowest),
        number(each.waits.slowest_ready),
        number(each.seconds, 0),
        "yes" if each.holds else "NO",
    )


def told(result: Result, folder: Path, seed: int) -> list[str]:
    """What is wrong, and how to see it again."""
    lines = [f"{result.name}: {fault}" for fault in result.faults]
    if result.waits.statuses:
        lines.append(f"{result.name}, others meanwhile: {result.waits.told()}")
    for failure in result.failures[:_MOST_SAVED]:
        file = save(failure, folder / result.name)
        lines.append(
            f"{result.name}: {failure.given.what}: {failure.why} ({failure.status}, {failure.seconds:.1f} s),"
            f" seed {seed}: python -m tests.attacks.replay {file} --to {failure.given.to}"
        )
    if len(result.failures) > _MOST_SAVED:
        lines.append(f"{result.name}: and {len(result.failures) - _MOST_SAVED} more")
    return lines


def save(failure: Failure, folder: Path) -> Path:
    """The bytes, in a file named by them."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{digest(failure.given.data)}.bin"
    file.write_bytes(failure.given.data)
    return file
