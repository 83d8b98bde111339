"""The pocket profile as containers: docker-compose.yml by podman-compose, asked at its published port."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

from deploy.inventory import APPS
from tests.containers.engine import CheckFailed, inspect, podman, succeeds
from tests.containers.project import Project
from tests.journey.deployments import Deployment, Indexed

READY_S = 120
_COUNTS = re.compile(r"│\s*(?:images|pages)\s*│\s*(\d+)\s*│\s*(\d+)\s*│\s*(\d+)\s*│")
_ASK = """
import sys, urllib.error, urllib.request
try:
    reply = urllib.request.urlopen(sys.argv[1], timeout=30)
except urllib.error.HTTPError as error:
    reply = error
print(reply.status)
print(reply.read().decode())
"""


class Containers(Deployment):
    """Starting makes the containers anew, stopping removes them; the volumes stay."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.gateway_url = project.gateway_url
        self._apps = {app.name: app for app in APPS}

    def start(self) -> None:
        """See `Deployment`. podman.yml removes the services' dependency on `tokens`, so it runs first."""
        self._project.compose("run", "--rm", "-T", "tokens")
        self._project.compose("up", "--detach", "--no-build")
        for name in self._apps:
            self.await_ready(name)

    def stop(self) -> None:
        """See `Deployment`."""
        self._project.compose("down")

    def index(self, folder: Path) -> tuple[Indexed, Indexed]:
        """See `Deployment`. By the tool `corpus`, as its reader would."""
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # pytest's folders are their owner's alone
        return self._index(folder, "images"), self._index(folder, "pages")

    def get(self, name: str, path: str) -> tuple[int, str]:
        """See `Deployment`. Asked inside the app's own container."""
        url = f"http://127.0.0.1:{self._apps[name].port}{path}"
        status, _, text = self.python(name, _ASK, url).partition("\n")
        return int(status), text

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """See `Deployment`. A container that somebody killed stays down until somebody starts it."""
        podman("kill", self.container(name))
        try:
            yield
        finally:
            podman("start", self.container(name))
            self.await_ready(name)
            self.await_ready("gateway")  # which asks it

    def container(self, name: str) -> str:
        """The name of an app's container."""
        return self._project.container(self._apps[name].host)

    def python(self, name: str, program: str, *words: str) -> str:
        """Run a program in an app's container, as the app's user."""
        return podman("exec", self.container(name), "python", "-c", program, *words)

    def await_ready(self, name: str, restarts: int = 0) -> float:
        """Wait until the health check passes after at least `restarts` restarts; return the seconds it took.

        The test runs the health check itself, because podman's timers need systemd. Raises `CheckFailed` with
        the last lines of the log.
        """
        begun, pause, container = monotonic(), Event(), self.container(name)
        while monotonic() < begun + READY_S:
            if inspect(container)["RestartCount"] >= restarts and succeeds("healthcheck", "run", container):
                return monotonic() - begun
            pause.wait(0.2)
        raise CheckFailed(f"{name} is not ready:\n{podman('logs', '--tail=20', container)}")

    def _index(self, folder: Path, what: str) -> Indexed:
        output = self._project.compose(
            "run", "--rm", "-T", "corpus", "index", what, f"/data/{what}.jsonl", data=folder
        )
        if (counted := _COUNTS.search(output)) is None:
            raise CheckFailed(f"corpus index {what} did not say what it did:\n{output[-2000:]}")
        new, unchanged, rejected = map(int, counted.groups())
        return Indexed(new, unchanged, rejected)
