"""Fit the reader. An interrupted run is resumed to the same result."""

import hashlib
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tqdm import tqdm

from chassis.accelerator import CPU
from training.reader.model import (
    CHECKPOINT,
    FINISHED,
    CrossEncoder,
    Example,
    collate,
    example,
    load_run,
    loss,
    newest,
    save,
    tokenizer,
)
from training.reader.rows import Row, near_misses
from training.runs import RunRefused

_FIRST_SOURCES = ("qamr", "sentences-dev", "sentences-test", "selqa")
_HEAD_RATE = 8.0
_WARM_UP = 0.06
_SAVED_EVERY_S = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    """`batch_tokens`: tokens of a batch with padding. `easier_first`, `easier_again`: shares of the easier
    rows that come before all others, and among them. `near_misses`: for so many of the questions, one more
    passage that search ranks high and that does not answer. `titled`: share of the pages below their title.
    `bf16`: autocast.
    """

    epochs: float = 3.0
    batch_tokens: int = 3_000
    rate: float = 1e-4
    easier_first: float = 0.5
    easier_again: float = 0.2
    near_misses: float = 0.0
    titled: float = 0.5
    max_tokens: int = 224
    seed: int = 1
    bf16: bool = False


SECOND_ROUND = Plan(
    epochs=0.7,
    batch_tokens=1_600,
    rate=7e-5,
    easier_first=0.0,
    easier_again=0.1,
    near_misses=0.5,
    titled=0.9,
    max_tokens=200,
)
"""After a first run: passages of a search that only look like an answer, and smaller batches."""


def fit(
    rows: Sequence[Row],
    base: Path,
    out: Path,
    plan: Plan,
    earlier: Path | None = None,
    device: str = CPU,
) -> None:
    """Train from `base`, or from where an `earlier` run ended, and write `model.pt` into `out`.

    Resume an interrupted run from its checkpoint. A finished one stays as it is. Raises `RunRefused` if
    `out` holds a run with other rows, starting weights or settings.
    """
    torch.manual_seed(plan.seed)
    out.mkdir(parents=True, exist_ok=True)
    model = load_run(earlier, base) if earlier else CrossEncoder.from_base(base)
    inputs = _inputs(plan, rows, model)
    state = _saved_state(out, inputs)
    if state and "step" not in state:
        return  # finished
    model.to(device)
    tokens = tokenizer(base, plan.max_tokens)
    optimizer = _optimizer(model, plan.rate)
    batches = list(schedule(rows, tokens, plan))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, len(batches)))
    done = 0
    if state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["random"])
        torch.cuda.set_rng_state_all(state["cuda_random"][: torch.cuda.device_count()])
        done = state["step"]
    model.train()
    saved, smooth = time.monotonic(), 0.0
    with tqdm(total=len(batches), initial=done, unit="step", mininterval=10) as bar:
        for step in range(done, len(batches)):
            batch = {name: each.to(device) for name, each in collate(batches[step]).items()}
            with torch.autocast(model.span.weight.device.type, torch.bfloat16, enabled=plan.bf16):
                spans, answers = model(**batch)
            value = loss(spans, answers, batch["mask"], batches[step])
            optimizer.zero_grad()
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            smooth = 0.98 * smooth + 0.02 * value.item() if step else value.item()
            bar.set_postfix(loss=f"{smooth:.3f}", refresh=False)
            bar.update()
            if time.monotonic() - saved > _SAVED_EVERY_S:
                states = {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
                states |= {"random": torch.get_rng_state(), "cuda_random": torch.cuda.get_rng_state_all()}
                save(model, out / CHECKPOINT, inputs, step=step + 1, **states)
                saved = time.monotonic()
    save(model, out / FINISHED, inputs)


def _optimizer(model: CrossEncoder, rate: float) -> torch.optim.Optimizer:
    """Return the optimizer of all weights but the embeddings, which are frozen."""
    model.encoder.embeddings.requires_grad_(False)
    heads = [*model.span.parameters(), *model.answers.parameters()]
    body = [each for each in model.encoder.parameters() if each.requires_grad]
    groups = [{"params": body, "lr": rate}, {"params": heads, "lr": rate * _HEAD_RATE}]
    return torch.optim.AdamW(groups, weight_decay=0.01)


def _inputs(plan: Plan, rows: Sequence[Row], model: CrossEncoder) -> dict[str, Any]:
    """Return the plan's fields with digests of the rows and of the starting weights."""
    learnt, weights = hashlib.sha256(), hashlib.sha256()
    for row in rows:
        learnt.update(repr(row).encode())
    for values in model.state_dict().values():
        weights.update(values.numpy().tobytes())
    return {**asdict(plan), "rows": learnt.hexdigest(), "starting weights": weights.hexdigest()}


def _saved_state(out: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the state of the run in a folder, empty if there is none.

    Raises `RunRefused` if that run has other inputs.
    """
    file = newest(out)
    if not file.exists():
        return {}
    state: dict[str, Any] = torch.load(file, "cpu", weights_only=True)
    before = state.get("inputs", {})
    changed = [
        f"{name} ({before.get(name)}, now {value})" if name in Plan.__slots__ else name
        for name, value in inputs.items()
        if before.get(name) != value
    ]
    if changed:
        raise RunRefused(
            f"{out} holds a run with other inputs: {', '.join(changed)}. "
            "Use the same files and options to resume it, or choose another --out."
        )
    return state


def rate_at(step: int, steps: int) -> float:
    """Return the share of the learning rate: a warm-up, then a straight line to zero."""
    warm = max(1, int(_WARM_UP * steps))
    return min((step + 1) / warm, (steps - step) / max(1, steps - warm))


def schedule(rows: Sequence[Row], tokens: Tokenizer, plan: Plan) -> Iterator[list[Example]]:
    """Yield the batches in order: easier sources first, then the rest, with a part of the easier ones."""
    draw = random.Random(plan.seed)
    easier = [row for row in rows if row.source in _FIRST_SOURCES]
    harder = [row for row in rows if row.source not in _FIRST_SOURCES]
    yield from _batches(draw.sample(easier, int(len(easier) * plan.easier_first)), tokens, plan, draw)
    for epoch in range(math.ceil(plan.epochs)):
        share = min(1.0, plan.epochs - epoch)
        again = draw.sample(easier, int(len(easier) * plan.easier_again))
        chosen = [*harder, *again, *near_misses(harder, plan.near_misses, draw)]
        yield from _batches(draw.sample(chosen, int(len(chosen) * share)), tokens, plan, draw)


def _batches(
    rows: Sequence[Row], tokens: Tokenizer, plan: Plan, draw: random.Random
) -> Iterator[list[Example]]:
    examples = [made for row in rows if (made := example(row, tokens, titled=draw.random() < plan.titled))]
    examples.sort(key=lambda each: len(each.ids) + draw.random())
    batches: list[list[Example]] = []
    for each in examples:
        if not batches or len(each.ids) * (len(batches[-1]) + 1) > plan.batch_tokens:
            batches.append([])
        batches[-1].append(each)
    draw.shuffle(batches)
    yield from batches
