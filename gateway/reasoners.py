"""The reasoners that the settings choose, and every pipeline that is offered with them.

The reasoner is a vision-language model with the reader service as its fallback, or the reader alone.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from chassis.errors import LoreglassError
from chassis.http.client import Endpoint, HttpClient
from chassis.http.health import Note
from chassis.resilience.deadlines import Deadline
from gateway.clients.services import Services
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline
from gateway.planning.stages import PROMPTS, Stage
from gateway.reasoning.lite.reasoner import LiteReasoner
from gateway.reasoning.port import Read, Reasoner
from gateway.serving.guards import Guards
from gateway.settings import GatewaySettings, Reasoning
from gateway.steps.routing import SearchRouter
from gateway.thresholds import LITE_LIMITS, RetrievalLimits, Thresholds

if TYPE_CHECKING:
    from gateway.llm.capabilities import Abilities
    from gateway.llm.client import VlmClient
    from gateway.llm.prompt import VlmOptions
    from gateway.llm.reasoner import Model

Check = Callable[[Deadline], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class PaperModel:
    """The model of the published pipelines, and the limits of its prompts."""

    client: "Model"
    options: "VlmOptions"


@dataclass(frozen=True, slots=True)
class Reasoners:
    """The default pipeline's `reasoner`, and the checks of what it depends on, by name.

    With a model: `fallback`, the reasoner when the model cannot be had in time, and `for_papers`.
    `sees_photos`: whether there is a model that does. `model`: its name and what its server can do;
    `keep_probing` keeps that current until cancelled.
    """

    reasoner: Reasoner
    fallback: Reasoner | None = None
    for_papers: PaperModel | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    model: Callable[[], Mapping[str, str]] = dict
    sees_photos: Callable[[], bool] = bool
    keep_probing: Callable[[], Coroutine[Any, Any, None]] | None = None


def open_reasoners(
    settings: GatewaySettings,
    http: HttpClient,
    guards: Guards,
    read: Read,
    abilities: "Abilities | None" = None,
) -> Reasoners:
    """Return the reasoner that the settings choose. `read`: the reader service.

    `abilities`: those of the model, if it was probed already; without them the gateway probes it.
    """
    if settings.reasoning is Reasoning.LITE:
        return Reasoners(LiteReasoner(read))
    from gateway.llm.probe import keep_probing
    from gateway.llm.reasoner import ModelByPrompt, VlmReasoner

    clients = _clients(settings, http, guards)
    if abilities is not None:
        clients["vlm"].features.set_from_probe(abilities)
    by_prompt = {
        prompt: clients[f"vlm-{name}"]
        for name, model in settings.stage_models.items()
        for stage in model.stages
        for prompt in PROMPTS[stage]
    }
    client = ModelByPrompt(clients["vlm"], by_prompt)
    options = model_options(settings)
    return Reasoners(
        VlmReasoner(client, options),
        fallback=LiteReasoner(read),
        for_papers=PaperModel(client, options),
        checks={name: partial(_model_note, each) for name, each in clients.items()},
        model=partial(_descriptions, clients),
        sees_photos=lambda: client.sees_photos,
        keep_probing=partial(keep_probing, tuple(clients.values())),
    )


def model_options(settings: GatewaySettings) -> "VlmOptions":
    """Return what prompts may hold."""
    from gateway.llm.prompt import VlmOptions, Window

    return VlmOptions(
        evidence_chars=settings.vlm_evidence_chars,
        window=Window(settings.vlm_context, settings.vlm_photo_tokens),
    )


async def _model_note(client: "VlmClient", deadline: Deadline) -> Note:
    """Return what readiness says of a model: that it fails and what to do, or that it takes text alone."""
    from gateway.llm.capabilities import TEXT_ONLY_NOTE
    from gateway.llm.server import VlmKeyRefused

    try:
        await client.ready(deadline)
    except VlmKeyRefused as error:
        return Note(f"{error.kind.value}: the model's server wants another key", is_failure=True)
    except LoreglassError as error:
        return Note(f"{error.kind.value}: {error.detail}", is_failure=True)
    return Note("ok" if client.sees_photos else TEXT_ONLY_NOTE)


def _descriptions(clients: "Mapping[str, VlmClient]") -> dict[str, str]:
    """Return the models' names and what the probes found; of further models under their names."""
    return {
        what if name == "vlm" else f"{name} {what}": value
        for name, client in clients.items()
        for what, value in client.described.items()
    }


def _clients(settings: GatewaySettings, http: HttpClient, guards: Guards) -> "dict[str, VlmClient]":
    """`vlm`, and `vlm-NAME` for each further model: a guard, a readiness check and metrics of its own."""
    from gateway.llm.call import VlmMetrics
    from gateway.llm.client import VlmClient

    metrics = VlmMetrics(guards.registry)

    def client(name: str, url: str, model: str, key: SecretStr, sequences: int) -> VlmClient:
        endpoint = Endpoint(url, model, key.get_secret_value(), context=settings.vlm_context)
        return VlmClient(http, endpoint, partial(metrics.observe, name), guards.guard(name, sequences))

    first = client("vlm", settings.vlm_url, settings.vlm_model, settings.vlm_key, settings.vlm_sequences)
    return {"vlm": first} | {
        f"vlm-{name}": client(f"vlm-{name}", each.url, each.model, each.key, each.sequences)
        for name, each in settings.stage_models.items()
    }


OpenReasoners = Callable[[GatewaySettings, HttpClient, Guards, Read], Reasoners]


def every_pipeline(
    services: Services, reasoners: Reasoners, thresholds: Thresholds, router: SearchRouter
) -> dict[str, Pipeline]:
    """Return the pipelines by name: the default one and, if there is a model, the published ones."""
    retrieval = RetrievalLimits() if reasoners.fallback is not None else LITE_LIMITS
    reasoner, fallback = reasoners.reasoner, reasoners.fallback
    pipelines: list[Pipeline] = [
        LoreglassPipeline(services, reasoner, thresholds, retrieval, router, fallback)
    ]
    if reasoners.for_papers is not None:
        pipelines += _of_papers(services, reasoners.for_papers, thresholds, router)
    return {pipeline.name: pipeline for pipeline in pipelines}


def _of_papers(
    services: Services, model: PaperModel, thresholds: Thresholds, router: SearchRouter
) -> Iterator[Pipeline]:
    # Imported here: what reads a model's replies takes time to import, and is for gateways with a model.
    from gateway.pipelines.baselines.model import VlmBaselines
    from gateway.pipelines.baselines.pipeline import (
        COT,
        TASKS,
        ClosedBookPipeline,
        CragMmPipeline,
        DirectRagPipeline,
    )
    from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
    from gateway.pipelines.qa_dragon.pipeline import QaDragonPipeline
    from gateway.pipelines.three_step.model import ThreeStepVlmReasoner
    from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
    from gateway.pipelines.wiki_prf.model import WikiPrfVlmReasoner
    from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline

    client, options, retrieval = model.client, model.options, RetrievalLimits()
    baselines = VlmBaselines(client, options)
    yield QaDragonPipeline(services, StepwiseVlmReasoner(client, options), thresholds, retrieval, router)
    yield ThreeStepPipeline(services, ThreeStepVlmReasoner(client, options), thresholds)
    yield WikiPrfPipeline(services, WikiPrfVlmReasoner(client, options), thresholds)
    yield ClosedBookPipeline(baselines.answer_alone)
    yield ClosedBookPipeline(baselines.answer_in_steps, "cot", COT, Stage.DRAFT)
    yield DirectRagPipeline(services, baselines, retrieval)
    yield from (CragMmPipeline(services, baselines, task) for task in TASKS)
