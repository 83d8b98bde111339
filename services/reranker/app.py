"""The reranker service: which passages answer the question."""

from functools import partial
from pathlib import PurePath

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from services.reranker.engine import Reranker
from services.reranker.routes import router
from services.reranker.settings import Engine, RerankerSettings


def create_app(settings: RerankerSettings) -> FastAPI:
    """Return the service with the engine that the settings name."""
    spec = ServiceSpec(
        name="reranker",
        routers=[router],
        open_engine=partial(open_engine, settings),
        takes=("text", "image") if settings.sees_photos else ("text",),
    )
    return create_service(spec, settings)


def open_engine(settings: RerankerSettings, resources: EngineResources) -> Reranker:
    """Return the engine that the settings name. Raises one clear sentence when its model cannot be used."""
    match settings.engine:
        case Engine.BUILTIN:
            from services.reranker.engines.builtin import BuiltinReranker

            return BuiltinReranker()
        case Engine.CASCADE:
            return _open_cascade(settings, resources)
        case Engine.REMOTE:
            from services.reranker.engines.remote import RemoteReranker

            server = settings.open_remote("reranker")
            resources.on_close(server.close)
            return RemoteReranker(server, settings.remote_shape, settings.remote_batch)


def _open_cascade(settings: RerankerSettings, resources: EngineResources) -> Reranker:
    from chassis.models.qformer import DEFAULT_MODEL
    from services.reranker.engines import qwen3
    from services.reranker.engines.cascade import CascadeReranker, CoarseStage, Cutoffs
    from services.reranker.engines.coarse_head import load_coarse, question_vectors

    accelerator = resources.open_accelerator(settings.placement)
    limits = settings.batch_limits
    coarse = fine = None
    names = []
    threshold = settings.coarse_threshold
    if settings.coarse:
        towers, head = load_coarse(settings.coarse_model, settings.coarse_head, accelerator)
        coarse = CoarseStage(
            resources.batch(question_vectors(towers, head), limits, "questions"),
            resources.batch(towers.text_vectors, limits, "documents"),
        )
        if head and threshold is None:
            threshold = head.threshold
        names.append(PurePath(settings.coarse_model or (head.base_model if head else DEFAULT_MODEL)).name)
    if settings.fine:
        source = settings.fine_model or qwen3.DEFAULT_MODEL
        judge = qwen3.Qwen3Reranker.from_pretrained(source, accelerator)
        fine = resources.batch(judge.score, limits, "pairs")
        names.append(PurePath(source).name)
    cutoffs = Cutoffs(settings.coarse_top, threshold, settings.fine_top, settings.fine_threshold)
    return CascadeReranker(coarse, fine, cutoffs, "+".join(names))
