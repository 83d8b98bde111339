"""`loreglass train sft`, `grpo`, `head`, `merge` and `presets`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from evaluation.commands.run import refuse
from training.config import PRESETS, Settings, WrongConfig, dump_config, load_config, preset_names
from training.runs import RunFolder
from training.torchvision_ops import make_importable

Config = Annotated[str, typer.Argument(metavar="CONFIG", help="a preset by name (`presets`), or a YAML file")]
Data = Annotated[
    list[Path] | None, typer.Argument(metavar="[DATA]...", help="folders of `train data`; else the config's")
]
Out = Annotated[Path | None, typer.Option(help="Run folder. An interrupted run is resumed.", file_okay=False)]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="another setting: lora.rank=8", metavar="NAME=VALUE")
]
_NEEDED = ("torch", "torchvision", "transformers", "peft", "accelerate", "datasets", "trl")


def require(*names: str) -> None:
    """Raise `WrongConfig` if one of them is not installed."""
    missing = [name for name in names or _NEEDED if find_spec(name) is None]
    if missing:
        raise WrongConfig(
            f"Training needs {', '.join(missing)}: pip install 'loreglass[training]', "
            "or `make .venv/.training` in a clone."
        )
    make_importable()


@contextmanager
def says_why() -> Iterator[None]:
    """End the process with 1 and a sentence if settings, data or a server are wrong."""
    from chassis.startup import CannotStart
    from evaluation.data.model import EvaluationError
    from training.grpo.rollout import ServicesDown
    from training.models import CannotMerge
    from training.runs import RunRefused
    from training.samples import UnreadableData

    of_training = (CannotMerge, RunRefused, ServicesDown, UnreadableData, WrongConfig)
    try:
        yield
    except (EvaluationError, *of_training, CannotStart) as error:
        refuse(str(error))
    except KeyboardInterrupt:
        refuse("Stopped. What is done is kept: the same command goes on from there.", 130)


def on_all_cards(cards: int) -> None:
    """Become one process a card, by torch's own launcher, unless this is one of them.

    Raises `WrongConfig` where there are fewer.
    """
    import torch

    if cards > 1 and not torch.distributed.is_torchelastic_launched():
        here = torch.cuda.device_count()
        if here < cards:
            raise WrongConfig(f"There are {here} cards here, not {cards}: --set cards={max(here, 1)}")
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(cards)]
        os.execv(sys.executable, [sys.executable, *launcher, "-m", "loreglass", *sys.argv[1:]])


def open_run(out: Path | None, config: Settings) -> RunFolder:
    """Open the run's folder; the first process takes it. Raises `WrongConfig` and `RunRefused`."""
    from training.trainers import on_main

    if out is None:
        raise WrongConfig("Say where the run is kept: --out RUN.")
    run = RunFolder(out, say=partial(typer.echo, err=True), writes=on_main())
    run.begin(dump_config(config))
    return run


def sft(config: Config, data: Data = None, out: Out = None, given: Set = None) -> None:
    """Teach a vision-language model the tasks of DATA, by the settings of CONFIG.

    Run the same command again to continue, with the same result.
    """
    from training.sft import SftConfig, finetune

    with says_why():
        settings = load_config(config, SftConfig, given, data)
        require()
        on_all_cards(settings.cards)
        finetune(settings, open_run(out, settings))


def grpo(config: Config, data: Data = None, out: Out = None, given: Set = None) -> None:
    """Train tool plans and filtering on the questions of DATA, by the settings of CONFIG.

    The services must run, with an index: LOREGLASS_GATEWAY_IMAGE_SEARCH_URL and the like say where, as for
    the gateway. Run the same command again to continue.
    """
    from chassis.validation import from_environment
    from gateway.settings import GatewaySettings
    from training.grpo.settings import GrpoConfig

    with says_why():
        settings = load_config(config, GrpoConfig, given, data)
        require()
        gateway = from_environment(GatewaySettings)
        on_all_cards(settings.cards)
        run = open_run(out, settings)

        from training.grpo.tuning import tune

        tune(settings, run, gateway)


def head(config: Config, data: Data = None, out: Out = None, given: Set = None) -> None:
    """Fit a small head on DATA, beside models that stay as they are; CONFIG says which.

    domain-router on samples of the task `domain`, coarse-reranker of `passages`, search-router of `draft`.
    Run the same command again to continue.
    """
    from training.heads.settings import AnyHead, CoarseRerankerConfig, DomainRouterConfig

    with says_why():
        settings = load_config(config, AnyHead, given, data).root
        of_drafts = settings.head == "search-router"
        require("accelerate", "sklearn", *(() if of_drafts else ("torch", "transformers")))
        run = open_run(out, settings)
        if isinstance(settings, DomainRouterConfig):
            from training.heads.domain_router import train_domain_router

            train_domain_router(settings, run)
        elif isinstance(settings, CoarseRerankerConfig):
            from training.heads.coarse_reranker import train_coarse_reranker

            train_coarse_reranker(settings, run)
        else:
            from training.heads.search_router import train_search_router

            train_search_router(settings, run)


def merge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a folder of `train sft` or `train grpo`")],
    out: Annotated[Path, typer.Option(help="the merged model's folder, a new one", file_okay=False)],
    preset: Annotated[str, typer.Option(help="which preset serves it; else the config's")] = "",
) -> None:
    """Merge the LoRA of RUN into its base model. It needs no card, but the base model's size in memory."""
    from pydantic import ValidationError

    from chassis.validation import first_fault
    from training.config import ModelSettings, WrongConfig
    from training.models import merge as merged
    from training.models import preset_of
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


def presets() -> None:
    """List the presets. Copy one to start your own settings."""
    for name in preset_names():
        lines = (PRESETS / f"{name}.yaml").read_text("utf-8").splitlines()
        opening = takewhile(lambda line: line.startswith("# "), lines)
        text = " ".join(line.removeprefix("# ").strip() for line in opening)
        typer.echo(f"{name}: {text.partition('. ')[0].removesuffix('.')}.")
    typer.echo(f"They lie in {PRESETS}.")
