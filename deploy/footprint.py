"""How much code one question runs: `make serve`, then `python -m deploy.footprint PHOTO QUESTION` elsewhere.

A gateway in this process answers, with the services of the platform that runs already. Counted are files and
functions of `gateway` and `chassis` that the gateway's thread enters, and frames of ours above the call of
text search; and the modules, lines and crowded calls of both, whoever runs them.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import anyio
import anyio.to_thread
import httpx
from rich.console import Console
from rich.table import Table

from chassis.http.serving import BoundApp, listen, running
from chassis.telemetry.logs import configure_logging
from deploy.one_process import gateway_settings_for
from gateway.app import create_app
from gateway.clients.services import Services

ROOT = Path(__file__).parents[1]
OURS = ("gateway", "chassis")
MOST_POSITIONAL = 3
_ANSWERED_WITHIN_S = 60.0


@dataclass(slots=True)
class Footprint:
    """What ran: `functions` by their code; `depth`: frames of ours over a call of `above`, at most."""

    above: CodeType
    functions: set[CodeType] = field(default_factory=set)
    depth: int = 0

    @property
    def files(self) -> set[str]:
        """Files of the functions."""
        return {code.co_filename for code in self.functions}

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what this thread calls within."""
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not is_ours(frame.f_code):
            return
        self.functions.add(frame.f_code)
        if frame.f_code is self.above:
            self.depth = max(self.depth, sum(is_ours(each.f_code) for each in _callers(frame)))


def _callers(frame: FrameType) -> Iterator[FrameType]:
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


def is_ours(code: CodeType) -> bool:
    """Whether the code stands in one of our packages."""
    return any(code.co_filename.startswith(f"{ROOT / package}/") for package in OURS)


def size_of(package: str) -> tuple[int, int]:
    """Modules and lines."""
    files = list((ROOT / package).rglob("*.py"))
    return len(files), sum(len(file.read_text("utf-8").splitlines()) for file in files)


def crowded_calls(package: str) -> int:
    """Calls with more than three arguments that are told apart by their places alone."""
    trees = (ast.parse(file.read_text("utf-8")) for file in (ROOT / package).rglob("*.py"))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sum(len(call.args) > MOST_POSITIONAL for call in calls)


async def footprint(photo: bytes, question: str, pipeline: str) -> tuple[Footprint, dict[str, object]]:
    """What the second of two questions runs, and its answer: the first one warms up."""
    gateway = BoundApp(create_app(gateway_settings_for("127.0.0.1")), listen("127.0.0.1", 0))
    counted = Footprint(Services.search_pages.__code__)

    def ask() -> dict[str, object]:
        reply = httpx.post(
            f"{gateway.url}/answer",
            files={"image": photo},
            data={"question": question, "pipeline": pipeline},
            timeout=_ANSWERED_WITHIN_S,
        )
        reply.raise_for_status()
        answer: dict[str, object] = reply.json()
        return answer

    async with running([gateway]):
        await anyio.to_thread.run_sync(ask)
        with counted.counting():
            answer = await anyio.to_thread.run_sync(ask)
    return counted, answer


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("photo", type=Path)
    parser.add_argument("question")
    parser.add_argument("--pipelines", nargs="+", default=["loreglass", "qa-dragon"])
    arguments = parser.parse_args()
    configure_logging("error")
    console = Console()
    table = Table("pipeline", "answer", "files", "functions", "frames above text search")
    for name in arguments.pipelines:
        photo = arguments.photo.read_bytes()
        counted, answer = anyio.run(footprint, photo, arguments.question, name)
        cells = (len(counted.files), len(counted.functions), counted.depth)
        table.add_row(name, str(answer["answer"]), *map(str, cells))
    sizes = Table("package", "modules", "lines", f"calls with over {MOST_POSITIONAL} positional arguments")
    for package in OURS:
        sizes.add_row(package, *map(str, (*size_of(package), crowded_calls(package))))
    console.print(table, sizes)


if __name__ == "__main__":
    main()
