"""What a question of each route asks of every card and service, and how fast a node is then.

Throughput and the time under full load are the bounds of operational analysis: no more than the busiest
station does, and with n at work never sooner than n / throughput (Denning and Buzen, 1978).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from capacity.placement.node_file import PlacementFile
from capacity.placement.packing import Layout
from capacity.placement.speed import step_ms, vlm_speed
from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH as LOREGLASS
from gateway.pipelines.qa_dragon.pipeline import STAGE_GRAPH as QA_DRAGON
from gateway.planning.latencies import Latencies, ModelStage, Work, load_latencies
from gateway.planning.plan import Plan
from gateway.planning.stage_graph import StageGraph
from gateway.planning.stages import Stage

TYPICAL = Plan(crops=2, sub_queries=2, chunks=40)
"""A question as most are; the full plan is what it may be."""

_IDENTIFY = {Stage.IMAGE_SEARCH, Stage.CROPPER, Stage.CROP_SEARCH, Stage.SELECT_ENTITY}
_RARE = {Stage.SECOND_HOP, Stage.SECOND_HOP_SEARCH, Stage.SECOND_HOP_RERANKER, Stage.QUERY_REWRITE}
_SERVICE = {
    Stage.CROP_SEARCH: "image_search",
    Stage.SECOND_HOP_SEARCH: "text_search",
    Stage.SECOND_HOP_RERANKER: "reranker",
}


@dataclass(frozen=True, slots=True)
class Way:
    """What a route usually is: a pipeline's stage_graph without the stages that it is usually spared."""

    name: str
    stage_graph: StageGraph
    spared: frozenset[Stage]

    def steps(self) -> Iterator[list[Stage]]:
        """Stages that run side by side, in order."""
        for step in self.stage_graph.in_order(TYPICAL.speculate):
            left = [
                each for each in step if each not in self.spared and self.stage_graph.includes(each, TYPICAL)
            ]
            if left:
                yield left


_FIRST = frozenset(LOREGLASS.in_order(True)[0])
WAYS = (
    Way("direct", LOREGLASS, frozenset(Stage) - _FIRST - {Stage.SESSION} | _RARE),
    Way("verify", LOREGLASS, frozenset((_IDENTIFY | _RARE) - {Stage.IMAGE_SEARCH})),
    Way("rag", LOREGLASS, frozenset(_RARE)),
    Way("qa-dragon", QA_DRAGON, frozenset(_RARE)),
)


@dataclass(frozen=True, slots=True)
class Demand:
    """One question, milliseconds. `idle_ms`: from end to end on an idle node. `services`: of each.

    Of the model: `reading_ms` (photos and prompts, one after the other), `tokens` written (side by side with
    others), each beside `sequence_gb` of keys and values on average; `calls`.
    """

    idle_ms: float
    services: Mapping[str, float]
    reading_ms: float
    tokens: float
    sequence_gb: float
    calls: float


@dataclass(frozen=True, slots=True)
class Expectation:
    """A route at the admission limit. `busy_ms`: the median with so many at work; `per_s`: if all took it."""

    name: str
    idle_ms: float
    busy_ms: float
    per_s: float
    calls: float


def latencies_of(file: PlacementFile) -> Latencies:
    """The table that the file names, with the preset's speed on the file's card."""
    return load_latencies(file.latencies, vlm_speed(file.node, file.vlm.chosen))


def demands(file: PlacementFile) -> dict[str, Demand]:
    """By route."""
    latencies = latencies_of(file)
    return {way.name: _demand(way, latencies, file) for way in WAYS}


def mixed(file: PlacementFile, each: Mapping[str, Demand]) -> Demand:
    """The mean question of the file's traffic."""
    shares: dict[str, float] = file.traffic.model_dump()

    def mean(values: Mapping[str, float]) -> float:
        return sum(share * values[route] for route, share in shares.items())

    tokens = mean({name: demand.tokens for name, demand in each.items()})
    cached = mean({name: demand.tokens * demand.sequence_gb for name, demand in each.items()})
    return Demand(
        idle_ms=mean({name: demand.idle_ms for name, demand in each.items()}),
        services={
            service: mean({name: demand.services.get(service, 0.0) for name, demand in each.items()})
            for service in file.services
        },
        reading_ms=mean({name: demand.reading_ms for name, demand in each.items()}),
        tokens=tokens,
        sequence_gb=cached / tokens,
        calls=mean({name: demand.calls for name, demand in each.items()}),
    )


def per_second(file: PlacementFile, layout: Layout, demand: Demand, batch: float) -> float:
    """Questions that the busiest card or service gets through, with `batch` sequences decoding at once."""
    step = step_ms(file.node, file.vlm.chosen, 1, demand.sequence_gb * batch) / batch
    model = (demand.reading_ms + demand.tokens * step) / file.vlm.replicas
    busiest = 0.0
    for card in range(layout.cards):
        small = sum(demand.services.get(name, 0.0) for name in layout.on(card))
        busiest = max(busiest, small + (model if card in layout.vlm else 0.0))
    for name, service in file.services.items():
        if not service.on_card:
            busiest = max(busiest, demand.services.get(name, 0.0) / (service.concurrency * service.replicas))
    return 1000 / busiest


def busy_ms(file: PlacementFile, layout: Layout, demand: Demand, in_flight: int, sequences: int) -> float:
    """The median with `in_flight` questions at work and as many sequences a replica as are let in."""
    batch = max(1.0, min(in_flight / file.vlm.replicas, float(sequences)))
    grown = step_ms(file.node, file.vlm.chosen, 1, demand.sequence_gb * batch)
    alone = demand.idle_ms + demand.tokens * (grown - step_ms(file.node, file.vlm.chosen))
    return max(alone, in_flight / per_second(file, layout, demand, batch) * 1000)


def _demand(way: Way, latencies: Latencies, file: PlacementFile) -> Demand:
    idle, reading, tokens, cached, calls = 0.0, 0.0, 0.0, 0.0, 0
    services: dict[str, float] = {}
    for step in way.steps():
        slowest = 0.0
        for stage in step:
            work = way.stage_graph.work(stage, TYPICAL)
            model = latencies.model_stages.get(stage) if way.stage_graph.asks_model(stage, TYPICAL) else None
            if model is None:
                ms = latencies.stages[stage].median_ms(work.items)
                name = _SERVICE.get(stage, stage.value)
                services[name] = services.get(name, 0.0) + ms
            else:
                ms = latencies.expected_ms(stage, work)
                written, held = _written(model, work, file)
                reading += ms - written * step_ms(file.node, file.vlm.chosen)
                tokens, cached, calls = tokens + written, cached + written * held, calls + 1
            slowest = max(slowest, ms)
        idle += slowest
    known = {name: ms for name, ms in services.items() if name in file.services}
    return Demand(idle, known, reading, tokens, cached / tokens, calls)


def _written(model: ModelStage, work: Work, file: PlacementFile) -> tuple[int, float]:
    """Tokens of the reply, and GB of keys and values that stand beside it on average."""
    preset = file.vlm.chosen
    written = int(min(model.output_tokens, work.max_output_tokens or math.inf))
    prompt = model.prompt_tokens + work.extra_prompt_tokens
    prompt += preset.photo_tokens if preset.photo_in_prompt else 0
    return written, preset.sequence_gb(prompt + written / 2)
