"""Steps of a long run: each command is printed before it runs, and the first failure ends the run."""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from bench.processes import PYTHON, serving
from chassis.startup import CannotStart
from deploy.one_process import Platform, started_platform
from deploy.settings import PocketSettings

_LOG = "log.txt"
_LOG_LINES = 12


class StepFailed(Exception):
    """A step that ended badly; the message says which, and what it said last."""


@dataclass
class Steps:
    """Everything is kept in the folder `out`."""

    out: Path
    console: Console = field(default_factory=lambda: Console(soft_wrap=True, highlight=False))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the name before, and the seconds that it took after."""
        self.console.print(f"\n{name}", style="bold", markup=False)
        began = time.monotonic()
        yield
        self.console.print(f"{time.monotonic() - began:.0f} s", markup=False)

    def loreglass(self, *words: str | Path, **environment: str) -> None:
        """A command as a person would type it; its stderr goes to the log. Raises `StepFailed`."""
        given, line = [f"{name}={value}" for name, value in environment.items()], list(map(str, words))
        self._tell([*given, "loreglass", *line])
        log = self.out / _LOG
        with log.open("a") as errors:
            command = ["env", *given, sys.executable, "-m", "loreglass", *line]
            status = subprocess.run(command, stderr=errors, check=False).returncode
        if status:
            raise StepFailed(f"`loreglass {' '.join(line[:2])}` ended with {status}. {_end_of(log)}")

    @contextmanager
    def server(self, module: str, source: Path) -> Iterator[str]:
        """The address of a model server over `source`, which ends with the context. Raises `StepFailed`."""
        command = (*PYTHON, module, str(source.resolve()), "--port", "{port}")
        self._tell(["python", "-m", module, str(source)])
        with ExitStack() as stack:
            try:
                server = stack.enter_context(serving(*command, ready="/v1/models"))
            except RuntimeError as error:
                raise StepFailed(f"`python -m {module}` does not start. {error}") from error
            yield f"{server.url}/v1"

    @contextmanager
    def platform(self, model_url: str) -> Iterator[Platform]:
        """The pocket platform on free ports, its answers by that model. Raises `StepFailed`."""
        settings = PocketSettings(port=0, service_port=0, data_dir=self.out / "index", model=model_url)
        self._tell(["loreglass", "serve", "--model-url", model_url])
        failure: BaseException | None = None
        try:
            with started_platform(settings) as started:
                try:
                    yield started
                except (StepFailed, KeyboardInterrupt) as error:  # the platform would put it into a group
                    failure = error
        except CannotStart as error:
            raise StepFailed(f"The platform cannot start: {error}") from error
        if failure is not None:
            raise failure

    def _tell(self, command: list[str]) -> None:
        self.console.print(f"$ {shlex.join(command)}", markup=False)


def _end_of(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").replace("\r", "\n").splitlines()[-_LOG_LINES:]
    return "\n".join([f"{log} ends:", *(f"    {line}" for line in lines)])
