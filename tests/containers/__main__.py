"""The images and docker-compose.yml, really run: `make containers-check`.

Builds the images, brings the pocket profile up with podman-compose under a name and port of its own, runs the
journeys against the published port (an index made by the tool `corpus`, everything removed and made anew over
the same volumes, services killed), lets one crash, and takes everything down again, whatever happened. The
images stay, as the next build's cache.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic
from types import FrameType

from bench.ports import free_ports
from deploy.inventory import APPS
from tests.containers.deployment import Containers
from tests.containers.engine import PodmanFailed, cleanup_error, inspect
from tests.containers.needs import configuration, unavailable
from tests.containers.project import ROOT, Project

BASE = "docker.io/library/python:3.11-slim-bookworm"
JOURNEYS_S = 900
CRASHING = "reranker"


class CheckFailed(Exception):
    """Something is not as it should be; the text says what."""


class Progress:
    """One line a step, with the seconds since the beginning."""

    def __init__(self) -> None:
        self._begun = monotonic()

    def say(self, text: str) -> None:
        """Print it now."""
        sys.stdout.write(f"[{monotonic() - self._begun:6.1f} s] {text}\n")
        sys.stdout.flush()


def main() -> int:
    """0: all is well; 1: something failed, or nothing can be checked here."""
    parser = argparse.ArgumentParser(prog="python -m tests.containers", description=__doc__)
    parser.add_argument("--no-build", action="store_true", help="take the images that are there")
    parser.add_argument("--base", default=BASE, help="build on this image (%(default)s)")
    arguments = parser.parse_args()
    if reason := unavailable():
        sys.stdout.write(f"The containers cannot be checked: {reason}\n")
        return 1
    progress = Progress()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    with tempfile.TemporaryDirectory(prefix="loreglass-containers-") as folder:
        _configure(Path(folder))
        try:
            if not arguments.no_build:
                _build(arguments.base, progress)
            _run(Path(folder), progress)
        except (CheckFailed, PodmanFailed, subprocess.TimeoutExpired) as error:
            progress.say(f"FAILED: {error}")
            return 1
        except KeyboardInterrupt:
            progress.say("interrupted")
            return 130
    progress.say("passed")
    return 0


def _configure(folder: Path) -> None:
    """Podman as this machine lets it run, unless somebody has said how."""
    if "CONTAINERS_CONF" not in os.environ and (settings := configuration()):
        path = folder / "containers.conf"
        path.write_text(settings)
        os.environ["CONTAINERS_CONF"] = str(path)


def _build(base: str, progress: Progress) -> None:
    names = [*(app.host for app in APPS), "corpus"]
    environment = {**os.environ, "ENGINE": "podman", "BASE": base}
    progress.say(f"building {len(names)} images on {base}")
    for number, name in enumerate(names, 1):
        command = [ROOT / "deploy/images/build.sh", name]
        built = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if built.returncode != 0:
            raise CheckFailed(f"{name} was not built:\n{built.stdout[-4000:].decode(errors='replace')}")
        progress.say(f"built {number} of {len(names)}: {name}")


def _run(folder: Path, progress: Progress) -> None:
    published = f"127.0.0.1:{free_ports(1)[0]}"
    project = Project(f"loreglass-check-{os.getpid()}", published, folder / "compose.log")
    containers = Containers(project)
    try:
        progress.say(f"up: project {project.name}, gateway at {published}")
        containers.start()
        progress.say("up and healthy")
        _journeys(project, progress)
        containers.start()
        _crash(containers, progress)
        _clean_stop(project, progress)
    finally:
        _take_down(project, progress)


def _journeys(project: Project, progress: Progress) -> None:
    progress.say("journeys against the published port")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/journey",
        "-p",
        "no:cacheprovider",
        "-vv",
        "--no-header",
    ]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **project.environment}, timeout=JOURNEYS_S, check=False
    )
    if done.returncode != 0:
        raise CheckFailed("a journey failed; see above")


def _crash(containers: Containers, progress: Progress) -> None:
    """Kill the process, not the container: it is the restart policy that has to bring it back."""
    container = containers.container(CRASHING)
    before = int(inspect(container)["RestartCount"])
    os.kill(int(inspect(container)["State"]["Pid"]), signal.SIGKILL)
    try:
        back = containers.await_ready(CRASHING, restarts=before + 1)
    except PodmanFailed as error:
        raise CheckFailed(
            f"podman did not restart {CRASHING} after a crash; it says: {cleanup_error(container)}\n{error}"
        ) from error
    known = back + containers.await_ready("gateway")
    progress.say(
        f"{CRASHING} crashed: restarted and ready after {back:.1f} s, the gateway ready after {known:.1f} s"
    )


def _clean_stop(project: Project, progress: Progress) -> None:
    begun = monotonic()
    project.compose("stop")
    codes = {name: inspect(name)["State"]["ExitCode"] for name in project.everything()["container"]}
    if any(codes.values()):
        raise CheckFailed(f"not every app ended by itself when it was told to: {codes}")
    progress.say(f"stopped in {monotonic() - begun:.1f} s, each with exit code 0")


def _take_down(project: Project, progress: Progress) -> None:
    """Not to be interrupted: what is left behind would be in the way of the next run."""
    handlers = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        if left := project.remove():
            raise CheckFailed(f"left behind: {left}")
        progress.say("taken down; no container, network or volume is left")
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
