"""What imports what in the gateway and the chassis, as a drawing: `python -m deploy.house` prints Mermaid.

CONTRIBUTING.md shows it, and a test holds it against the imports. Left out is what everything may import
(`errors`, `settings` and the like, which are no rooms) and the parts that put things together.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    *("gateway.routes", "gateway.serving", "gateway.pipelines", "gateway.steps", "gateway.llm"),
    *("gateway.planning", "gateway.reasoning", "gateway.clients"),
    *("chassis.http", "chassis.telemetry", "chassis.resilience", "chassis.models", "chassis.vectors"),
    *("services", "contracts", "language"),
)
_PACKAGES = ("gateway", "chassis", "services", "contracts", "language")


def drawing() -> str:
    """Rooms as boxes, each above those that it imports; an arrow that others imply is not drawn."""
    imports = dict.fromkeys(_imports())
    arrows = [arrow for arrow in imports if not _is_implied(arrow, list(imports))]
    lines = [f"    {_box(above)} --> {_box(below)}" for above, below in arrows]
    return "\n".join(["graph TD", *lines]) + "\n"


def _imports() -> Iterator[tuple[str, str]]:
    """Each pair of rooms of which the first imports from the second, in the order of `ROOMS`."""
    graph = grimp.build_graph(*_PACKAGES)
    for above in ROOMS:
        for below in ROOMS:
            if above != below and graph.direct_import_exists(
                importer=above, imported=below, as_packages=True
            ):
                yield above, below


def _is_implied(arrow: tuple[str, str], arrows: list[tuple[str, str]]) -> bool:
    """Whether there is a longer way from the one room to the other."""
    start, end = arrow
    reached, frontier = set[str](), [below for above, below in arrows if above == start and below != end]
    while frontier:
        room = frontier.pop()
        if room not in reached:
            reached.add(room)
            frontier += [below for above, below in arrows if above == room]
    return end in reached


def _box(room: str) -> str:
    return f"{room.replace('.', '_')}[{room.replace('.', '/')}]"


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "proto")]
    sys.stdout.write(drawing())
