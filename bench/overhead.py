"""Benchmark: the gateway's time and CPU beside a bare proxy's."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import httpx

from bench.benchmark import About, Bench, Benchmark, Table, cores, number, percentile
from bench.generator import Body, Load, Outcome, evenly, multipart, photo
from bench.node.scene import QUESTIONS
from bench.processes import NODE, PYTHON, Running, cpu_seconds, serving
from chassis.images import ImageLimits, clean_image
from contracts.answer import Route
from gateway.clients.services import Services

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
KINDS = ("follow-up", "upload")
BASE = "proxy"
GATEWAY = "gateway, instant reasoner"
GOAL_MS = 20.0


@dataclass(frozen=True, slots=True)
class Subject:
    """A server to measure: `bodies` by kind, sent to `url`."""

    name: str
    server: Running
    url: str
    bodies: Mapping[str, Body]


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
        """Return CPU milliseconds a request, at concurrency 1 and 16 together."""
        return self.cpu_s * 1000 / (len(self.alone) + len(self.crowded))

    @property
    def rate(self) -> float:
        """Return requests a second on one saturated core."""
        return len(self.crowded) / self.crowded_s


Cells = Mapping[tuple[str, str], Cell]
"""By kind of request and name of the subject."""


async def run(bench: Bench) -> Sequence[Table]:
    """Measure the proxy and two gateways; those that are not measured do nothing."""
    measured, others = cores()
    with ExitStack() as stack:
        services = stack.enter_context(serving(*NODE, cpus=others))
        proxy = stack.enter_context(serving(*PYTHON, "bench.proxy", services.url, "{port}", cpus=measured))
        url = f"{proxy.url}/answer"
        subjects = [
            Subject(BASE, proxy, url, bodies(url)),
            stack.enter_context(gateway(GATEWAY, services.url, measured, "--instant-reasoner")),
            stack.enter_context(gateway("gateway, no model", services.url, measured)),
        ]
        cells = await compare(bench, subjects)
    tables = []
    for kind in KINDS:
        more_ms = median(cells[kind, GATEWAY].alone) - median(cells[kind, BASE].alone)
        met = "met" if more_ms <= GOAL_MS else "missed"
        finding = f"{GATEWAY}: {number(more_ms)} ms more. The goal is {met}."
        tables.append(table(cells, kind, BASE, finding))
    return tables


@contextmanager
def gateway(name: str, services_url: str, cpus: Sequence[int], *arguments: str) -> Iterator[Subject]:
    """Run a gateway that refuses nothing."""
    settings = {f"LOREGLASS_GATEWAY_{name.upper()}_URL": services_url for name in Services.names()}
    settings |= {f"LOREGLASS_GATEWAY_{name}": "1000" for name in ("MAX_IN_FLIGHT", "MAX_WAITING")}
    settings |= {"LOREGLASS_GATEWAY_PORT": "{port}", "LOREGLASS_GATEWAY_LOG_LEVEL": "warning"}
    with serving(*PYTHON, "bench.gateway", *arguments, settings=settings, cpus=cpus) as server:
        url = f"{server.url}/answer"
        yield Subject(name, server, url, bodies(url))


async def compare(bench: Bench, subjects: Sequence[Subject]) -> Cells:
    """Measure all of them with both kinds of request, in interleaved rounds."""
    cells: dict[tuple[str, str], Cell] = {}
    rounds = bench.count(3, least=1)
    for turn in range(rounds + 1):  # the first one warms up
        for subject in subjects:
            bench.progress(turn / (rounds + 1), subject.name)
            for kind, body in subject.bodies.items():
                cell = cells.setdefault((kind, subject.name), Cell()) if turn else Cell()
                await _measure(bench, subject, body, cell)
    return cells


def bodies(url: str) -> Mapping[str, Body]:
    """Return a follow-up in a conversation with a stored photo, and an upload."""
    photo_of_gateway = clean_image(photo(), ImageLimits(), max_side=1600).jpeg
    first = multipart({"question": QUESTION}, photo_of_gateway)
    reply = httpx.post(url, content=first.content, headers={"Content-Type": first.content_type})
    session = reply.raise_for_status().json().get("session_id")
    fields = {"question": QUESTION} | ({"session_id": session} if session else {})
    return {"follow-up": multipart(fields), "upload": multipart({"question": QUESTION}, photo())}


async def _measure(bench: Bench, subject: Subject, body: Body, cell: Cell) -> None:
    """Measure one round: one client, then many, then open loop."""
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


def table(cells: Cells, kind: str, base: str, finding: str) -> Table:
    """Return a row for each subject. Raises `RuntimeError` if one did not answer all of its requests."""
    headers = (
        kind,
        f"p50 ms at {_RATE:.0f}/s",
        "p99 ms",
        "p50 ms, 1 caller",
        f"p50 ms, {_CONCURRENT} callers",
        "p99 ms",
        "CPU ms a request",
        "req/s a core",
        f"CPU to the {base}'s",
    )
    rows = []
    for (of, name), cell in cells.items():
        if of != kind:
            continue
        if failed := sum(each.reply.status != 200 for each in (*cell.alone, *cell.crowded, *cell.paced)):
            raise RuntimeError(f"{name} did not answer {failed} of its requests.")
        paced, crowded = _ms(cell.paced), _ms(cell.crowded)
        figures = (
            number(percentile(paced, 0.5), 2),
            number(percentile(paced, 0.99), 2),
            number(median(cell.alone), 2),
            number(percentile(crowded, 0.5)),
            number(percentile(crowded, 0.99)),
            number(cell.cpu_ms, 2),
            number(cell.rate, 0),
            number(cell.cpu_ms / cells[kind, base].cpu_ms, 2),
        )
        rows.append((name, *figures))
    return Table(headers, tuple(rows), finding)


def median(outcomes: Sequence[Outcome]) -> float:
    return percentile(_ms(outcomes), 0.5)


def _ms(outcomes: Sequence[Outcome]) -> list[float]:
    return [each.ms for each in outcomes]


BENCHMARK = Benchmark(ABOUT, run)
