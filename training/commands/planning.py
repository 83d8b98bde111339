"""`--plan`: what a training takes of each card, and how long, before it begins."""

from collections.abc import Sequence
from typing import Any

import typer

from gateway.pipelines.wiki_prf.model import ANSWER_TOKENS, CAPTION_TOKENS, FILTER_TOKENS, PLAN_TOKENS
from gateway.settings import GatewaySettings
from training.config import RunSettings
from training.estimate.plan import LAYER_S, USED_OF_TFLOPS, Plan, Work, plan
from training.estimate.step import Batch
from training.grpo.settings import GrpoConfig
from training.samples import ConversationSample, Part, QuestionSample, Task, read_samples
from training.sft.settings import SftConfig

_CHARACTERS_A_TOKEN = 4


def plan_sft(config: SftConfig) -> None:
    """Print it. Ends the process with 1 where a card does not hold it. Raises `WrongConfig`."""
    tokens = config.max_prompt_tokens + config.max_reply_tokens
    found: list[ConversationSample] = [each for task in config.tasks for each in _to_learn(config.data, task)]
    lengths = [_characters(each) / _CHARACTERS_A_TOKEN + _photo(config) for each in found]
    mean = min(tokens, sum(lengths) / len(lengths)) if lengths else tokens
    work = Work(
        model=config.model,
        lora=config.lora,
        run=config,
        learnt=Batch(config.device_batch_size, tokens, tokens),
        tokens=mean,
        samples=len(found) or None,
    )
    _told(plan(work), config, work, len(found), "samples")


def plan_grpo(config: GrpoConfig, settings: GatewaySettings) -> None:
    """Print it. Ends the process with 1 where a card does not hold it. Raises `WrongConfig`."""
    questions: list[QuestionSample] = _to_learn(config.data, Task.QUESTION)
    count = len(questions[: config.most_questions]) or config.most_questions or 0
    tokens = settings.vlm_context
    work = Work(
        model=config.model,
        lora=config.lora,
        run=config,
        learnt=Batch(config.device_batch_size, tokens, tokens - settings.vlm_photo_tokens),
        tokens=tokens,
        samples=count * config.group or None,
        written=Batch(min(config.write_at_once, config.batch_size // config.cards or 1), tokens),
        new_tokens=PLAN_TOKENS + CAPTION_TOKENS + FILTER_TOKENS + ANSWER_TOKENS,
    )
    _told(plan(work), config, work, count, "questions")


def _to_learn(folders: Sequence[Any], task: Task) -> list[Any]:
    return [each for folder in folders for each in read_samples(folder, task).part(Part.TRAIN)]


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
    amount = f"{work.run.epochs:g} epochs of {count:,} {what}" if count else f"1,000 {what}, once"
    longest = f"{work.learnt.sequences} x {work.learnt.tokens:,} tokens"
    assumed = f"Assumed: {USED_OF_TFLOPS:.0%} of the card's TFLOPS are used"
    if work.written is not None:
        assumed += (
            f", transformers takes {LAYER_S * 1000:g} ms a layer for a token of {work.written.sequences} "
            "rollouts that are written at once, and searches take no time"
        )
    return [
        f"The model has {planned.parameters / 1e9:.2f} billion weights.",
        f"A card learns from {longest} at once.",
        f"{amount}: about {_time(planned.hours)}, at {work.tokens:,.0f} tokens each.",
        f"{assumed}.",
    ]


def _time(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{hours * 60:.1f} minutes"
