"""What the gateway costs beside a bare proxy."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import httpx

from bench.arrivals import Outcome, evenly
from bench.benchmark import SERVICES, Bench, Benchmark, cores
from bench.figures import Table, number, percentile
from bench.generator import Body, Load
from bench.node.scene import QUESTIONS
from bench.photo import multipart, photo
from bench.processes import Running, cpu_seconds, running, until_ready
from bench.report import About
from chassis.images import ImageLimits, clean_image
from contracts.answer import Route

ABOUT = About(
    "overhead",
    "Overhead of the gateway",
    "The gateway and a bare ASGI proxy make the same three calls to instant services for the same question:"
    " OCR beside image search, then the domain router. The instant reasoner leaves only the platform's own"
    " work; the other one reads the question and has the photo's text read, a fourth call. A follow-up is"
    " about a photo that is already there; an upload brings one of 1280 x 960, which the gateway cleans and"
    " checks, and the proxy passes on as it is.",
    "for one caller at most 20 ms more than the proxy: 1 % of a question that takes 2 s.",
)
_RATE = 25.0
"""Open-loop requests a second: under half of what the slowest can do."""
_CONCURRENT = 16
QUESTION = QUESTIONS[Route.DIRECT]
UNLIMITED = {"LOREGLASS_GATEWAY_MAX_IN_FLIGHT": "1000", "LOREGLASS_GATEWAY_MAX_WAITING": "1000"}
KINDS = ("follow-up", "upload")
BASE = "proxy"
GATEWAY = "gateway, instant reasoner"
HEADERS = (
    f"p50 ms at {_RATE:.0f}/s",
    "p99 ms",
    "p50 ms, 1 caller",
    f"p50 ms, {_CONCURRENT} callers",
    "p99 ms",
    "CPU ms a request",
    "req/s a core",
    "CPU ratio",
)
GOAL_MS = 20.0


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured. `url`: where it answers."""

    name: str
    server: Running
    url: str


@dataclass(slots=True)
class Cell:
    """All rounds of one subject with one kind of request."""

    paced: list[Outcome] = field(default_factory=list)
    alone: list[Outcome] = field(default_factory=list)
    crowded: list[Outcome] = field(default_factory=list)
    cpu_s: float = 0.0
    crowded_s: float = 0.0

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a request, at concurrency 1 and 16 together."""
        return self.cpu_s * 1000 / (len(self.alone) + len(self.crowded))

    @property
    def rate(self) -> float:
        """Requests a second on the one core, saturated."""
        return len(self.crowded) / self.crowded_s


async def run(bench: Bench) -> Sequence[Table]:
    """Interleaved rounds over all subjects and both kinds of request."""
    measured, others = cores()
    with _subjects(measured, others) as subjects:
        cells: dict[tuple[str, str], Cell] = {}
        rounds = bench.count(3, least=1)
        for turn in range(rounds + 1):  # the first one warms up
            for subject in subjects:
                bench.progress(turn / (rounds + 1), subject.name)
                for kind, body in bodies(subject.url).items():
                    cell = cells.setdefault((kind, subject.name), Cell()) if turn else Cell()
                    await measure(bench, subject, body, cell)
    return [_table(cells, kind, [subject.name for subject in subjects]) for kind in KINDS]


@contextmanager
def _subjects(measured: Sequence[int], others: Sequence[int]) -> Iterator[list[Subject]]:
    """Start all of them on one core; those that are not measured do nothing."""
    with ExitStack() as stack:
        services = stack.enter_context(running("bench.node", cpus=others))
        settings = gateway_environment(services.url) | UNLIMITED

        def start(name: str, module: str, *arguments: str) -> Subject:
            given = settings if module.endswith("gateway") else {}
            server = stack.enter_context(running(module, *arguments, settings=given, cpus=measured))
            until_ready(server.url)
            return Subject(name, server, f"{server.url}/answer")

        yield [
            start(BASE, "bench.proxy", services.url),
            start(GATEWAY, "bench.gateway", "--instant-reasoner"),
            start("gateway, no model", "bench.gateway"),
        ]


def gateway_environment(services_url: str) -> dict[str, str]:
    """Return settings with every service behind one address."""
    return {f"LOREGLASS_GATEWAY_{name.upper()}_URL": services_url for name in SERVICES}


def bodies(url: str) -> Mapping[str, Body]:
    """A follow-up in a conversation that has its photo as the gateway keeps it, and an upload."""
    kept = clean_image(photo(), ImageLimits(), max_side=1600).jpeg
    first = multipart({"question": QUESTION}, kept)
    reply = httpx.post(url, content=first.content, headers={"Content-Type": first.content_type})
    session = reply.raise_for_status().json().get("session_id")
    fields = {"question": QUESTION} | ({"session_id": session} if session else {})
    return {"follow-up": multipart(fields), "upload": multipart({"question": QUESTION}, photo())}


async def measure(bench: Bench, subject: Subject, body: Body, cell: Cell) -> None:
    """One round: one caller, then many, then open loop."""
    url = subject.url
    before = cpu_seconds(subject.server.pid)
    cell.alone += await bench.generator.fire(Load(url, (body,), concurrency=1, count=bench.count(40)))
    crowded = await bench.generator.fire(
        Load(url, (body,), concurrency=_CONCURRENT, count=bench.count(120, least=48))
    )
    cell.cpu_s += cpu_seconds(subject.server.pid) - before
    cell.crowded += crowded
    cell.crowded_s += max(each.due_s + each.ms / 1000 for each in crowded)
    offsets = tuple(evenly(_RATE, bench.seconds(1.5)))
    cell.paced += await bench.generator.fire(Load(url, (body,), offsets=offsets))


def _table(cells: Mapping[tuple[str, str], Cell], kind: str, names: Sequence[str]) -> Table:
    base = cells[kind, BASE]
    rows = tuple(
        (name, *_figures(cells[kind, name]), number(cells[kind, name].cpu_ms / base.cpu_ms, 2))
        for name in names
    )
    ours = cells[kind, GATEWAY]
    more_ms = _median(ours.alone) - _median(base.alone)
    met = "met" if more_ms <= GOAL_MS else "missed"
    return Table((kind, *HEADERS), rows, f"{GATEWAY}: {number(more_ms)} ms more. The goal is {met}.")


def _figures(cell: Cell) -> Iterator[str]:
    paced, crowded = _ms(cell.paced), _ms(cell.crowded)
    yield from (number(percentile(paced, 0.5), 2), number(percentile(paced, 0.99), 2))
    yield number(_median(cell.alone), 2)
    yield from (number(percentile(crowded, 0.5)), number(percentile(crowded, 0.99)))
    yield from (number(cell.cpu_ms, 2), number(cell.rate, 0))


def _ms(outcomes: Sequence[Outcome]) -> list[float]:
    return [each.ms for each in outcomes]


def _median(outcomes: Sequence[Outcome]) -> float:
    return percentile(_ms(outcomes), 0.5)


BENCHMARK = Benchmark(ABOUT, run)
