"""Opens one engine after the other and measures its stages."""

import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
import transformers

from chassis.accelerator import CPU, Accelerator, Placement, open_accelerator
from deploy.gpu_stages.engines import SERVICE_ENGINES
from deploy.gpu_stages.measuring import Effort, Measured, forget_peak, measure
from deploy.gpu_stages.sizes import PUBLISHED, TINY
from deploy.gpu_stages.stages import Bench, Engine, Skipped
from deploy.gpu_stages.table import Surroundings, page
from deploy.gpu_stages.vlm import VLM


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be measured, and how."""

    placement: Placement
    tiny: bool
    only: Collection[str]
    effort: Effort
    seed: int


def measured_page(request: Request) -> str:
    """The page of all engines that were asked for."""
    accelerator = open_accelerator(request.placement)
    rows: list[Measured] = []
    skipped: dict[str, str] = {}
    for engine in (*SERVICE_ENGINES, VLM):
        if engine.name not in request.only:
            continue
        print(f"{engine.name} …", file=sys.stderr)  # noqa: T201
        try:
            rows += _rows(engine, request, accelerator)
        except Skipped as reason:
            skipped[engine.name] = str(reason)
        except torch.OutOfMemoryError:
            skipped[engine.name] = "it did not fit into the card's memory"
        forget_peak(accelerator)
    return page(_surroundings(request, accelerator), request.effort, rows, skipped)


def _rows(engine: Engine, request: Request, accelerator: Accelerator) -> list[Measured]:
    torch.manual_seed(request.seed)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(TINY if request.tiny else PUBLISHED, accelerator, Path(folder))
        stages = engine.open(bench)
        return [row for stage in stages for row in measure(stage, accelerator, request.effort)]


def _surroundings(request: Request, accelerator: Accelerator) -> Surroundings:
    device = "the CPU" if accelerator.device == CPU else torch.cuda.get_device_name(accelerator.device)
    return Surroundings(
        device=device,
        dtype=accelerator.dtype,
        versions=f"torch {torch.__version__}, transformers {transformers.__version__}",
        date=datetime.now(UTC).date().isoformat(),
        seed=request.seed,
        sizes="tiny" if request.tiny else "published",
    )
