"""The recipes that come along: each can be used, and says of each number where it is from."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from training.cli import app
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


def test_every_recipe_is_named_with_a_whole_sentence() -> None:
    lines = CliRunner().invoke(app, ["presets"]).output.splitlines()
    for name in preset_names():
        (line,) = (line for line in lines if line.startswith(f"{name}: "))
        assert line.endswith(".")
        assert line.count("(") == line.count(")")


@pytest.mark.parametrize("name", RECIPES)
def test_every_number_of_a_published_recipe_says_where_it_is_from(name: str) -> None:
    lines = (PRESETS / f"{name}.yaml").read_text("utf-8").splitlines()
    silent = [line for line in lines if line.partition(":")[0] in NUMBERS and "  # " not in line]

    assert silent == []


@pytest.mark.parametrize("name", [name for name, kind in RECIPES.items() if kind is GrpoConfig])
def test_answer_and_form_weigh_the_same_in_the_rewards_of_wiki_prf(name: str) -> None:
    """The best ratio of its Table 13."""
    rewards = load_config(name, GrpoConfig).rewards

    assert rewards.answer == pytest.approx(rewards.tool_format + rewards.filter_format)
    assert rewards.tool_use == 0
