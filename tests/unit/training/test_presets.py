"""Recipes of trainings, and rewards."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gateway.pipelines.wiki_prf.tool_plan import CONTENT_CHARS, MOST_CALLS
from training.config import PRESETS, Settings, load_config, preset_names
from training.grpo.rollout import NAMES, Trajectory, answer_reward, rewards
from training.grpo.settings import GrpoConfig
from training.samples import Origin, Part, QuestionSample, Task
from training.sft import SftConfig

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
def test_every_number_of_a_published_recipe_has_a_source(name: str) -> None:
    lines = (PRESETS / f"{name}.yaml").read_text("utf-8").splitlines()
    silent = [line for line in lines if line.partition(":")[0] in NUMBERS and "  # " not in line]

    assert silent == []


PLAN = "<think>Small.</think>\n<tool>\n1. grounding: the statue\n2. flip\n</tool>"
KNOWLEDGE = "<think>Piece 2 tells it.</think>\n<answer>The tower is 31 metres tall.</answer>"
ACCEPTED = ("31 metres", "31 m")
SAMPLE = QuestionSample(
    id="q",
    task=Task.QUESTION,
    part=Part.TRAIN,
    origin=Origin(run="r", interaction_id="i", session_id="s"),
    question="How tall is it?",
    gold="The tower is 31 metres tall.",
    accepted=ACCEPTED,
    truth={
        "interaction_id": "i",
        "answer_type": "number",
        "accepted": ACCEPTED,
        "value": 31,
        "unit": "metre",
    },
)


@pytest.mark.parametrize(
    ("text", "exact", "scored"),
    [
        ("31 metres", 1, 1),
        ("the 31 Metres", 1, 1),
        ("The tower is 31 metres tall.", 1, 1),
        ("It is 31 metres tall, I think.", 0, 1),
        ("It is 32 metres tall.", 0, 0),
        ("", 0, 0),
        ("I don't know.", 0, 0),
    ],
)
def test_answer_reward_by_match_or_scorer(text: str, exact: float, scored: float) -> None:
    assert answer_reward(text, SAMPLE) == exact
    assert answer_reward(text, SAMPLE, by_scorer=True) == scored


@pytest.mark.parametrize(
    ("plan", "in_form", "calls"),
    [
        (PLAN, 1, 1),
        ("<think>x</think><tool>\n- flip\n</tool>", 0, 1),
        ("1. flip", 0, 1),
        ("<think>x</think><tool>\n</tool>", 0, 0),
        ("<think>x</think><tool>\n1. shout: loudly\n</tool>", 0, 0),
        ("<think>x</think><tool>\n1. caption:\n</tool>", 0, 0),
        ("<tool>\n1. flip\n</tool>", 0, 1),
        (PLAN + PLAN, 0, 1),
        ("<think>x</think><tool>\n" + "1. flip\n" * (MOST_CALLS + 1) + "</tool>", 0, 1),
        (f"<think>x</think><tool>\n1. caption: {'a' * (CONTENT_CHARS + 1)}\n</tool>", 0, 1),
        ("", 0, 0),
        (None, 0, 0),
    ],
)
def test_plan_and_call_rewards(plan: str | None, in_form: float, calls: float) -> None:
    earned = rewards(Trajectory(plan, None, ""), SAMPLE)
    assert (earned["tool_format"], earned["tool_use"]) == (in_form, calls)


@pytest.mark.parametrize(
    ("knowledge", "in_form"),
    [
        (KNOWLEDGE, 1),
        ("<answer>31 metres</answer>", 0),
        ("<think>x</think>31 metres", 0),
        ("<think>x</think><answer></answer>", 0),
        ("<think>x</think><answer>31</answer><answer>32</answer>", 0),
        ("<think>x</think><answer>31 metres", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_knowledge_earns_by_its_form(knowledge: str | None, in_form: float) -> None:
    assert rewards(Trajectory(PLAN, knowledge, ""), SAMPLE)["filter_format"] == in_form


TEXTS = st.text(max_size=400) | st.text(alphabet="<>/thinktoolanswer1. \n:flip", max_size=200)


@given(plan=st.none() | TEXTS, knowledge=st.none() | TEXTS, answer=TEXTS, by_scorer=st.booleans())
def test_each_reward_is_0_or_1(
    plan: str | None, knowledge: str | None, answer: str, *, by_scorer: bool
) -> None:
    earned = rewards(Trajectory(plan, knowledge, answer), SAMPLE, by_scorer=by_scorer)
    assert tuple(earned) == NAMES
    assert set(earned.values()) <= {0.0, 1.0}
    assert earned["tool_use"] >= earned["tool_format"]
