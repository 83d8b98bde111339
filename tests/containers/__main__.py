"""The images and docker-compose.yml, really run: `make containers-check`.

Builds the images, brings the pocket profile up with podman-compose under a name and port of its own, runs the
journeys against the published port (an index made by the tool `corpus`, everything removed and made anew over
the same volumes, services killed), lets one crash, and takes everything down again, whatever happened. The
images stay, as the next build's cache.
"""

import argparse
import logging
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
from tests.containers.engine import CheckFailed, cleanup_error, inspect
from tests.containers.needs import configuration, unavailable
from tests.containers.project import ROOT, Project

BASE = "docker.io/library/python:3.11-slim-bookworm"
JOURNEYS_S = 900
CRASHING = "reranker"
say = logging.getLogger("containers").info


def main() -> int:
    """0: all is well; 1: something failed, or nothing can be checked here."""
    parser = argparse.ArgumentParser(prog="python -m tests.containers", description=__doc__)
    parser.add_argument("--no-build", action="store_true", help="take the images that are there")
    parser.add_argument("--base", default=BASE, help="build on this image (%(default)s)")
    arguments = parser.parse_args()
    if reason := unavailable():
        sys.stdout.write(f"The containers cannot be checked: {reason}\n")
        return 1
    logging.basicConfig(stream=sys.stdout, level="INFO", format="[%(relativeCreated)8.0f ms] %(message)s")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    with tempfile.TemporaryDirectory(prefix="loreglass-containers-") as folder:
        _configure(Path(folder))
        try:
            if not arguments.no_build:
                _build(arguments.base)
            _run(Path(folder))
        except (CheckFailed, subprocess.TimeoutExpired) as error:
            say(f"FAILED: {error}")
            return 1
        except KeyboardInterrupt:
            say("interrupted")
            return 130
    say("passed")
    return 0


def _configure(folder: Path) -> None:
    """Podman as this machine lets it run, unless somebody has said how."""
    if "CONTAINERS_CONF" not in os.environ and (settings := configuration()):
        path = folder / "containers.conf"
        path.write_text(settings)
        os.environ["CONTAINERS_CONF"] = str(path)


def _build(base: str) -> None:
    names = [*(app.host for app in APPS), "corpus"]
    environment = {**os.environ, "ENGINE": "podman", "BASE": base}
    say(f"building {len(names)} images on {base}")
    for number, name in enumerate(names, 1):
        command = [ROOT / "deploy/images/build.sh", name]
        built = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if built.returncode != 0:
            raise CheckFailed(f"{name} was not built:\n{built.stdout[-4000:].decode(errors='replace')}")
        say(f"built {number} of {len(names)}: {name}")


def _run(folder: Path) -> None:
    published = f"127.0.0.1:{free_ports(1)[0]}"
    project = Project(f"loreglass-check-{os.getpid()}", published, folder / "compose.log")
    containers = Containers(project)
    try:
        say(f"up: project {project.name}, gateway at {published}")
        containers.start()
        say("up and healthy")
        _journeys(project)
        containers.start()
        _crash(containers)
        _clean_stop(project)
    finally:
        _take_down(project)


def _journeys(project: Project) -> None:
    say("journeys against the published port")
    words = "-m pytest tests/journey -p no:cacheprovider -vv --no-header"
    command = [sys.executable, *words.split()]
    environment = {**os.environ, **project.environment}
    done = subprocess.run(command, cwd=ROOT, env=environment, timeout=JOURNEYS_S, check=False)
    if done.returncode != 0:
        raise CheckFailed("a journey failed; see above")


def _crash(containers: Containers) -> None:
    """Kill the process, not the container: it is the restart policy that has to bring it back."""
    container = containers.container(CRASHING)
    before = int(inspect(container)["RestartCount"])
    os.kill(int(inspect(container)["State"]["Pid"]), signal.SIGKILL)
    try:
        back = containers.await_ready(CRASHING, restarts=before + 1)
    except CheckFailed as error:
        raise CheckFailed(
            f"podman did not restart {CRASHING} after a crash; it says: {cleanup_error(container)}\n{error}"
        ) from error
    known = back + containers.await_ready("gateway")
    say(f"{CRASHING} crashed: restarted and ready after {back:.1f} s, the gateway ready after {known:.1f} s")


def _clean_stop(project: Project) -> None:
    begun = monotonic()
    project.compose("stop")
    codes = {name: inspect(name)["State"]["ExitCode"] for name in project.everything()["container"]}
    if any(codes.values()):
        raise CheckFailed(f"not every app ended by itself when it was told to: {codes}")
    say(f"stopped in {monotonic() - begun:.1f} s, each with exit code 0")


def _take_down(project: Project) -> None:
    """Not to be interrupted: what is left behind would be in the way of the next run."""
    handlers = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        if left := project.remove():
            raise CheckFailed(f"left behind: {left}")
        say("taken down; no container, network or volume is left")
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
