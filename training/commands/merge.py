"""`loreglass train merge`: what was learnt, in a folder that vLLM serves."""

from pathlib import Path
from typing import Annotated

import typer

from training.commands.failing import says_why


def merge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a folder of `train sft` or `train grpo`")],
    out: Annotated[Path, typer.Option(help="the merged model's folder, a new one", file_okay=False)],
    preset: Annotated[str, typer.Option(help="which preset serves it; else the config's")] = "",
) -> None:
    """Merge the LoRA of RUN into its base model. It needs no card, but the base model's size in memory."""
    from pydantic import ValidationError

    from chassis.validation import first_fault
    from training.config import ModelSettings, WrongConfig
    from training.libraries import require
    from training.merging import merge as merged
    from training.merging import preset_of
    from training.runs import ADAPTER, RunFolder

    with says_why():
        require("torch", "torchvision", "transformers", "peft")
        try:
            model = ModelSettings.model_validate(RunFolder(run).config().get("model"))
        except ValidationError as error:
            raise WrongConfig(f"{run} is of no model with a LoRA: {first_fault(error)}.") from error
        name = preset_of(model, preset)
        merged(model, run / ADAPTER, out, name, {"base": model.weights, "run": run.name})
    typer.echo(f"Serve it: python -m services.vlm --model {out}")
