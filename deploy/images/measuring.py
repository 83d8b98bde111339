"""What each image weighs, and, started, what it takes: the table in README.md."""

import json
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deploy.images.catalogue import Image

_READY_S = 120.0
_POLL_S = 0.1
_MB = 1e6
AS_DEPLOYED = ("--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges")
HEALTH = 'python -I -S /opt/health.py "$LOREGLASS_READY"'


class CannotMeasure(Exception):
    """An image is not there or does not start; the text says which."""


@dataclass(frozen=True, slots=True)
class Started:
    """`idle`: memory of the process once it was ready, bytes."""

    idle: int
    ready_s: float
    stop_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of the whole, and of the layers that not every image has; `run` where it was started."""

    name: str
    size: int
    own: int
    run: Started | None = None


def table(engine: str, images: Sequence[Image], run: bool) -> str:
    """A Markdown table, one row an image. Raises `CannotMeasure`."""
    layers = {image.name: _layers(engine, image) for image in images}
    common = set.intersection(*(set(each) for each in layers.values())) if len(images) > 1 else set()
    rows = [_measured(engine, image, layers[image.name], common, run) for image in images]
    head = ["image", "MB", "of it its own", *(("idle, MB", "ready, s", "stop, s") if run else ())]
    lines = [_row(head), _row(["---"] * len(head))]
    for each in rows:
        lines.append(
            _row(
                [
                    each.name,
                    f"{each.size / _MB:.0f}",
                    f"{each.own / _MB:.0f}",
                    *(_figures(each.run) if run else ()),
                ]
            )
        )
    return "\n".join(lines) + "\n"


def _figures(run: Started | None) -> tuple[str, str, str]:
    if run is None:
        return "–", "–", "–"
    return f"{run.idle / _MB:.0f}", f"{run.ready_s:.1f}", f"{run.stop_s:.1f}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _measured(engine: str, image: Image, layers: dict[str, int], common: set[str], run: bool) -> Measured:
    own = sum(size for layer, size in layers.items() if layer not in common)
    whole = int(_inspect(engine, "image", image.reference)["Size"])
    if not run or image.target == "tool":
        return Measured(image.name, whole, own)
    return Measured(image.name, whole, own, started(engine, image))


def _layers(engine: str, image: Image) -> dict[str, int]:
    """Digest to bytes, the oldest first. Empty steps of the history have no layer."""
    try:
        digests = _inspect(engine, "image", image.reference)["RootFS"]["Layers"]
    except CannotMeasure as error:
        raise CannotMeasure(
            f"{error}\nTo build it: python -m deploy.images build --only {image.name}"
        ) from error
    if engine == "podman":
        steps = json.loads(_ask(engine, "history", "--format=json", image.reference))
        sizes = [int(step["size"]) for step in steps]
    else:
        history = _ask(engine, "history", "--human=false", "--format={{.Size}}", image.reference)
        sizes = [int(size) for size in history.split()]
    filled = [size for size in reversed(sizes) if size > 0]
    return dict(zip(digests, filled[: len(digests)], strict=False))


def started(engine: str, image: Image) -> Started:
    """An app as it is deployed, until it is ready, and stopped again. Raises `CannotMeasure`."""
    name = f"loreglass-measure-{uuid.uuid4().hex[:8]}"
    began = time.monotonic()
    _ask(engine, "run", "--detach", f"--name={name}", *AS_DEPLOYED, image.reference)
    try:
        ready_s = _until_up(engine, name, image) - began
        status = _ask(engine, "exec", name, "cat", "/proc/1/status")
        idle = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
        began = time.monotonic()
        _ask(engine, "stop", "--time=10", name)
        stop_s = time.monotonic() - began
        code = _inspect(engine, "container", name)["State"]["ExitCode"]
        if code != 0:
            raise CannotMeasure(f"{image.reference} ended with {code}.")
        return Started(idle, ready_s, stop_s)
    finally:
        subprocess.run([engine, "rm", "--force", "--volumes", name], capture_output=True, check=False)


def _until_up(engine: str, name: str, image: Image) -> float:
    """Ready; or, for the gateway, alive: alone, nothing that it asks is there."""
    check = HEALTH if image.host != "gateway" else f"{HEALTH} || {HEALTH} 2>&1 | grep --quiet ' 503'"
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        asked = subprocess.run([engine, "exec", name, "sh", "-c", check], capture_output=True, check=False)
        if asked.returncode == 0:
            return time.monotonic()
        time.sleep(_POLL_S)
    logs = subprocess.run([engine, "logs", name], capture_output=True, text=True, check=False)
    raise CannotMeasure(f"{image.reference} was not ready in {_READY_S:.0f} s:\n{logs.stdout + logs.stderr}")


def _inspect(engine: str, kind: str, name: str) -> Any:
    (found,) = json.loads(_ask(engine, kind, "inspect", name))
    return found


def _ask(engine: str, *arguments: str) -> str:
    done = subprocess.run([engine, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"{engine} {' '.join(arguments[:3])}: {done.stderr.strip()}")
    return done.stdout
