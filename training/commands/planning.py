"""`--plan`: what a training takes of each card, and how long, before it begins."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import typer

from gateway.pipelines.wiki_prf.model import ANSWER_TOKENS, CAPTION_TOKENS, FILTER_TOKENS, PLAN_TOKENS
from gateway.settings import GatewaySettings
from training.config import RunSettings, WrongConfig
from training.estimate.plan import LAYER_S, MFU, Plan, Work, plan
from training.estimate.step import Batch
from training.grpo.settings import GrpoConfig
from training.samples import ConversationSample, Part, Task, read_samples
from training.sft.mixture import selected
from training.sft.settings import SftConfig

_CHARACTERS_A_TOKEN = 4
_UNKNOWN = 1000


def plan_sft(config: SftConfig) -> None:
    """Print it. Ends the process with 1 where a card does not hold it. Raises `WrongConfig`."""
    tokens = config.max_prompt_tokens + config.max_reply_tokens
    found, _, rejected = selected(config)
    lengths = [_characters(each.sample) / _CHARACTERS_A_TOKEN + _photo(config) for each in found]
    mean = min(tokens, sum(lengths) / len(lengths)) if lengths else tokens
    _require_something(config.data, len(found), len(rejected))
    work = Work(
        model=config.model,
        lora=config.lora,
        run=config,
        learnt=Batch(config.device_batch_size, tokens, tokens),
        tokens=mean,
        samples=_in_all(config, len(found)),
    )
    _told(plan(work), config, work, len(found), "samples")


def plan_grpo(config: GrpoConfig, settings: GatewaySettings) -> None:
    """Print it. Ends the process with 1 where a card does not hold it. Raises `WrongConfig`."""
    readings = [read_samples(folder, Task.QUESTION) for folder in config.data]
    questions = {each.id for reading in readings for each in reading.part(Part.TRAIN)}
    _require_something(config.data, len(questions), sum(len(reading.rejected) for reading in readings))
    most = config.most_questions or len(questions)
    count = min(len(questions), most) if config.data else most
    tokens, own_base = settings.vlm_context, not config.base.url
    work = Work(
        model=config.model,
        lora=config.lora,
        run=config,
        learnt=Batch(config.device_batch_size, tokens, tokens - settings.vlm_photo_tokens),
        tokens=tokens,
        samples=_in_all(config, count * config.group, config.group),
        written=Batch(min(config.write_at_once, config.batch_size // config.cards or 1), tokens),
        new_tokens=PLAN_TOKENS + FILTER_TOKENS + (CAPTION_TOKENS + ANSWER_TOKENS) * own_base,
        prompts=1 + own_base,  # the filter's fills the context; the others together come to another
    )
    _told(plan(work), config, work, count, "questions")


def _require_something(data: Sequence[Path], count: int, rejected: int) -> None:
    if data and not count:
        raise WrongConfig(f"There is nothing to learn from in that data; {rejected} rows were left out.")


def _in_all(config: RunSettings, an_epoch: int, group: int = 1) -> float:
    """Samples that are learnt from, each as often as it comes; of `_UNKNOWN` once where none are counted."""
    if not an_epoch:
        return _UNKNOWN * group
    return min(an_epoch * config.epochs, (config.most_steps or inf) * config.batch_size)


def _characters(sample: ConversationSample) -> int:
    return len(sample.label) + sum(len(piece.text) for said in sample.messages for piece in said.content)


def _photo(config: SftConfig) -> int:
    """Tokens of a photo in the prompt, where the processor cuts it into patches of 28 pixels."""
    return (config.model.max_pixels or 0) // (28 * 28)


def _told(planned: Plan, config: RunSettings, work: Work, count: int, what: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=f"One {config.card} of {config.cards}", title_justify="left")
    table.add_column("What it holds")
    table.add_column("GiB", justify="right")
    for name, size in planned.parts.items():
        table.add_row(name, f"{size:.1f}")
    table.add_section()
    table.add_row("peak", f"{planned.peak:.1f}")
    table.add_row("the card", f"{planned.card.memory:.1f}")
    console = Console()
    console.print(table)
    for line in _lines(planned, work, count, what):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if not planned.fits:
        typer.echo(
            "It does not fit: model.quantised=true, a smaller batch or fewer tokens take less.", err=True
        )
        raise typer.Exit(1)


def _lines(planned: Plan, work: Work, count: int, what: str) -> list[str]:
    often = f"{work.run.epochs:g} epochs" if work.run.epochs != 1 else "One epoch"
    if work.run.most_steps:
        often = f"At most {work.run.most_steps} steps"
    amount = f"{often} of {count:,} {what}" if count else f"{_UNKNOWN:,} {what}, once"
    longest = f"{work.learnt.sequences} x {work.learnt.tokens:,} tokens"
    assumed = f"Assumed: model FLOPs utilisation of {MFU:.0%}"
    if work.written is not None:
        assumed += (
            f", transformers takes {LAYER_S * 1000:g} ms a layer for a token of {work.written.sequences} "
            "rollouts that are written at once, and searches take no time"
        )
    if work.run.held_out:
        assumed += f"; replies to {work.run.held_out} held-out samples, before and after, are not counted"
    return [
        f"The model has {planned.parameters / 1e9:.2f} billion weights.",
        f"A card learns from {longest} at once.",
        f"{amount}: about {_time(planned.hours)}, at {work.tokens:,.0f} tokens each.",
        f"{assumed}.",
    ]


def _time(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{hours * 60:.1f} minutes"
