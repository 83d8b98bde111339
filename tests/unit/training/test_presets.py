"""Packaged training presets are valid and documented."""

from pathlib import Path
from unittest.mock import ANY

import pytest
import yaml
from typer.testing import CliRunner

from training.cli import app
from training.commands.planning import memory
from training.config import PRESETS, Settings, load_config, preset_names
from training.grpo.settings import GrpoConfig
from training.sft.settings import SftConfig

NUMBERS = ("lora", "epochs", "learning_rate", "warmup", "batch_size", "group", "temperature", "clip", "kl")


def kind_of(name: str) -> type[Settings] | None:
    """Of a language model's recipe; None: it is a head's."""
    given = yaml.safe_load((PRESETS / f"{name}.yaml").read_text("utf-8"))
    if "head" in given:
        return None
    return SftConfig if "tasks" in given else GrpoConfig


RECIPES = {name: kind for name in preset_names() if (kind := kind_of(name)) is not None}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_can_be_used(name: str, tmp_path: Path) -> None:
    assert load_config(name, RECIPES[name], [f"data=[{tmp_path}]"])


@pytest.mark.parametrize("name", RECIPES)
def test_every_number_of_a_published_recipe_says_where_it_is_from(name: str) -> None:
    lines = (PRESETS / f"{name}.yaml").read_text("utf-8").splitlines()
    silent = [line for line in lines if line.partition(":")[0] in NUMBERS and "  # " not in line]

    assert silent == []


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_fits_its_card_by_its_plan(name: str) -> None:
    command = "sft" if RECIPES[name] is SftConfig else "grpo"
    said = CliRunner().invoke(app, [command, name, "--plan"])
    assert said.exit_code == 0, said.output
    assert "billion weights" in said.output


def test_plan_reports_what_does_not_fit() -> None:
    def said(*given: str) -> tuple[int, str]:
        options = [word for each in given for word in ("--set", each)]
        result = CliRunner().invoke(app, ["sft", "blackpearl-table-6-48gb", "--plan", *options])
        return result.exit_code, result.stderr

    assert said("device_batch_size=8") == (1, ANY)
    assert "It does not fit" in said("device_batch_size=8")[1]
    assert said("device_batch_size=3", "model.quantised=true")[0] == 0
    assert "Known: meta-llama" in said("model.weights=somewhere")[1]
    assert "Known: a100-80gb" in said("card=abacus")[1]


def test_four_bits_a_smaller_lora_and_shorter_samples_take_less() -> None:
    def total(*given: str) -> float:
        return sum(memory(load_config("blackpearl-table-6-48gb", SftConfig, given)).values())

    assert total() == pytest.approx(31, abs=1)
    assert total("model.quantised=true", "optimiser=paged_adamw_8bit") == pytest.approx(16, abs=1)
    assert total("lora.rank=8") < total()
    assert total("max_prompt_tokens=1024") < total()
