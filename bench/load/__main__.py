"""`python -m bench.load`: start platforms, send users, write locust's reports to var/load.

Locust runs in a process of its own: it patches the one it is in.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bench.offered_load import deployment
from bench.profile import index_sample, one_process
from bench.settings import ROOT, environment

OUT = ROOT / "var" / "load"
_USERS = 4
"""About half of those that either platform serves on two cores."""
_BROKEN = 2
"""Exit statuses above 1: not the objectives but the run itself failed."""


@dataclass(frozen=True, slots=True)
class Platform:
    """`material`: what users look at and ask there; `open` yields the gateway's address."""

    title: str
    material: str
    open: Callable[[], AbstractContextManager[str]]


@contextmanager
def _lite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as data, one_process(Path(data)) as (_, urls):
        index_sample(urls)
        yield urls["gateway"]


@contextmanager
def _node() -> Iterator[str]:
    with deployment() as gateway:
        yield gateway.url


PLATFORMS = {
    "pocket": Platform("the platform without a model server", "sample", _lite),
    "node": Platform("a gateway in front of a simulated L40S", "routes", _node),
}


def main(
    platform: Annotated[list[str] | None, typer.Option(help=" or ".join(PLATFORMS))] = None,
    seconds: Annotated[int, typer.Option(min=5, help="how long each run is")] = 60,
    users: Annotated[int, typer.Option(min=1, help="half of what each can take, unless given")] = _USERS,
) -> None:
    """Load every platform; exit with 1 if an objective was missed."""
    unknown = sorted(set(platform or ()) - set(PLATFORMS))
    if unknown:
        sys.exit(f"There is no platform {unknown[0]}; there are {' and '.join(PLATFORMS)}.")
    statuses = []
    for name in platform or PLATFORMS:
        target = PLATFORMS[name]
        with target.open() as url:
            typer.echo(f"\n{name}: {seconds} s at {target.title}")
            options = (f"--users={users}", f"--spawn-rate={users}", f"--run-time={seconds}s")
            statuses.append(locust(url, OUT / name, f"--wearers-material={target.material}", *options))
    typer.echo(f"\nReports: {OUT}")
    sys.exit(max(statuses))


def locust(host: str, folder: Path, *options: str) -> int:
    """Run locust, whose reports go to `folder`; return 1 if an objective was missed."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "locust", "-f", str(ROOT / "bench" / "load" / "locustfile.py")]
    command += ["--headless", "--only-summary", f"--host={host}"]
    command += [f"--html={folder / 'report.html'}", f"--csv={folder / 'locust'}"]
    ended = subprocess.run([*command, *options], cwd=ROOT, env=environment({}), check=False)
    if ended.returncode >= _BROKEN:
        sys.exit(f"Locust failed with status {ended.returncode}.")
    return ended.returncode


if __name__ == "__main__":
    typer.run(main)
