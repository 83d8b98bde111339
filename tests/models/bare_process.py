"""Runs in a process of its own: each model engine, where no web framework can be imported.

`python -m tests.models.bare_process FOLDERS FILE`: a JSON object of tiny models' folders; writes another to
the file, engine -> "ok" or the traceback. httpx stays for huggingface_hub, which is built on it; our own
modules cannot have it either.
"""

import builtins
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ABSENT = {
    "fastapi",
    "starlette",
    "uvicorn",
    "pydantic",
    "pydantic_core",
    "pydantic_settings",
    "prometheus_client",
    "structlog",
    "sklearn",
    "scikit_learn",
}
OURS = {"chassis", "contracts", "services", "gateway", "deploy"}
HTTP_CLIENT = "httpx"

Folders = Mapping[str, str]
_ANYTHING = importlib.metadata.DistributionFinder.Context()


class Without(importlib.metadata.DistributionFinder):
    """The usual search for modules, which does not find those of `ABSENT`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See the base class."""
        if name.partition(".")[0] in ABSENT:
            return None
        return importlib.machinery.PathFinder.find_spec(name, path, target)

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context = _ANYTHING
    ) -> Iterable[importlib.metadata.Distribution]:
        """For those who ask for a version, mostly by name: then the files of the others are not read."""
        found = importlib.machinery.PathFinder.find_distributions(context)
        if context.name is not None:
            return () if context.name.replace("-", "_") in ABSENT else found
        return (each for each in found if each.metadata["Name"].replace("-", "_") not in ABSENT)


def leave_out() -> None:
    """From now on the packages of `ABSENT` are as if not installed, and our modules cannot have httpx."""
    sys.meta_path[:] = [
        Without() if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path
    ]
    usual = builtins.__import__

    def checked(name: str, globals: Any = None, *rest: Any, **named: Any) -> ModuleType:
        importer = str((globals or {}).get("__name__", ""))
        if name.partition(".")[0] == HTTP_CLIENT and importer.partition(".")[0] in OURS:
            raise ModuleNotFoundError(f"{importer} imports {name}")
        module: ModuleType = usual(name, globals, *rest, **named)
        return module

    builtins.__import__ = checked


def _photo() -> Any:
    return np.random.default_rng(0).integers(0, 256, (64, 80, 3), dtype=np.uint8)


def _accelerator() -> Any:
    from chassis.accelerator import Placement, open_accelerator

    return open_accelerator(Placement("cpu"))


def _clip(folders: Folders) -> None:
    from services.image_search.engines.clip import ClipEncoder

    encoder = ClipEncoder(folders["clip"], _accelerator())
    assert len(encoder.forward(encoder.views(_photo()))[0]) == encoder.size


def _bge(folders: Folders) -> None:
    from services.text_search.engines.bge import BgeEncoder, BgeModel

    encoder = BgeEncoder(BgeModel(folders["bge"], _accelerator()))
    (vector,) = encoder.queries(["Who built the red tower?"])
    assert vector.shape == (encoder.size,)


def _grounding_dino(folders: Folders) -> None:
    from services.cropper.engines.detector import GroundingDinoDetector
    from services.cropper.engines.grounding_dino import DetectionOptions, GroundingDinoCropper

    detector = GroundingDinoDetector.from_pretrained(folders["gdino"], _accelerator())
    everything = DetectionOptions(box_threshold=0.0, text_threshold=0.0)
    assert GroundingDinoCropper(detector, options=everything).crop(_photo(), ["cat"], 3)


def _reranker(folders: Folders) -> None:
    from chassis.models.qformer import QFormer
    from services.reranker.engines.cascade import CascadeReranker, CoarseStage, Cutoffs
    from services.reranker.engines.coarse_head import question_vectors
    from services.reranker.engines.qwen3 import Qwen3Reranker

    qformer = QFormer.from_pretrained(folders["blip2"], _accelerator())
    judge = Qwen3Reranker.from_pretrained(folders["qwen3"], _accelerator())
    coarse = CoarseStage(question_vectors(qformer, None), qformer.text_vectors)
    cascade = CascadeReranker(coarse, judge.score, Cutoffs(coarse_threshold=0.0, fine_threshold=0.0))
    assert len(cascade.rerank("who built it?", ["Ada built it.", "A dog."], None, _photo())) == 2


def _reader(folders: Folders) -> None:
    from services.reader.engine import Passage, Query
    from services.reader.engines.extractive import ExtractiveReader, ReadingOptions, uncalibrated
    from services.reader.engines.windows import QuestionAnsweringModel

    model = QuestionAnsweringModel.from_pretrained(folders["reader"], _accelerator())
    reader = ExtractiveReader(model, options=ReadingOptions(curve=uncalibrated(20.0)))
    assert reader.read(Query("Who built it?", "The red tower"), [Passage("It was built by Ada.")])


def _domain_router(folders: Folders) -> None:
    from chassis.models.qformer import QFormer
    from services.domain_router.engines.blip2 import Blip2DomainRouter
    from services.domain_router.engines.domain_head import DomainHead

    qformer = QFormer.from_pretrained(folders["blip2"], _accelerator())
    size = qformer.hidden_size
    weight = np.zeros((2, size), np.float32)
    head = DomainHead(weight, weight[:, 0], 1.0, ("book", "food"), "", weight[0])
    assert Blip2DomainRouter(qformer.encode_questions, head).classify("who?", "", _photo()) == [0.5, 0.5]


def _web_framework(_: Folders) -> None:
    """The check itself: this must not be importable here."""
    for name in sorted(ABSENT):
        if importlib.util.find_spec(name) is not None:
            raise AssertionError(f"{name} can be imported")
    try:
        exec("import httpx", {"__name__": "services.somewhere", "__builtins__": builtins})
    except ModuleNotFoundError:
        return
    raise AssertionError("our modules can import httpx")


ENGINES: dict[str, Callable[[Folders], None]] = {
    "image_search clip": _clip,
    "text_search bge": _bge,
    "cropper grounding_dino": _grounding_dino,
    "reranker cascade": _reranker,
    "reader extractive": _reader,
    "domain_router blip2": _domain_router,
    "no web framework": _web_framework,
}
"""A row an engine: make it from its tiny folder, and let it answer once."""


def main() -> None:
    """Try every row, whatever the others do."""
    from training.torchvision_ops import make_importable

    make_importable()
    leave_out()
    folders: Folders = json.loads(sys.argv[1])
    outcomes: dict[str, str] = {}
    for name, attempt in ENGINES.items():
        try:
            attempt(folders)
            outcomes[name] = "ok"
        except Exception:  # noqa: BLE001 - reported to the parent, which fails on it
            outcomes[name] = traceback.format_exc()
    Path(sys.argv[2]).write_text(json.dumps(outcomes), "utf-8")  # libraries print to the terminal


if __name__ == "__main__":
    main()
