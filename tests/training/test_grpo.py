"""GRPO: rollouts are the pipeline's own, what others wrote carries no loss, and what pays is learnt."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from safetensors.torch import load_file

from contracts.cropper import CropReply
from contracts.image_search import ImageSearchReply
from contracts.text_search import TextSearchReply
from gateway.llm.prompt import TextPrompt
from gateway.pipelines.wiki_prf.model import plan_prompt
from gateway.reasoners import model_options
from gateway.settings import GatewaySettings
from tests.training.made import photo, sft_config, trained
from tests.training.platforms import served
from tests.unit.gateway.fakes import FakeServices, crop_region, image_hit
from tests.unit.gateway.llm.stage import PHOTO
from tests.vlm_server import ServerTraits, says, vlm_server
from training.chat import Chats, Turn
from training.config import WrongConfig, dump_config
from training.grpo import rollout, tuning
from training.grpo.rewards import NAMES
from training.grpo.rollout import Asked, Roller, ServicesDown, Trajectory, messages_of
from training.grpo.settings import ForcedPlan, GrpoConfig
from training.grpo.tuning import open_platform, tune
from training.grpo.writing import Ask, Continuation, ended
from training.models import load
from training.runs import ADAPTER, AFTER, BEFORE, RunFolder
from training.samples import (
    ConversationSample,
    Label,
    Origin,
    Part,
    QuestionSample,
    Task,
    digest,
    write_samples,
)
from training.tiny.models import tiny_qwen3_vl, tiny_qwen25_vl

PLAN = "<think>Small.</think>\n<tool>\n1. grounding: the book\n</tool>"
ROOT = Path(__file__).resolve().parents[2]
KNOWLEDGE = "<think>Piece 1.</think>\n<answer>It has 312 pages.</answer>"
LOOSE = "I would look at the book."


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen2.5-VL whose tokenizer was made from the prompts, so that they are short."""
    prompts = [path.read_text("utf-8") for path in sorted((ROOT / "gateway").rglob("prompts/*.toml"))]
    said = [PLAN, LOOSE, KNOWLEDGE] * 5
    return tiny_qwen25_vl(tmp_path_factory.mktemp("weights"), [*prompts, *said], 1500)


@pytest.fixture(scope="module")
def started(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A question to learn from and one held out, and a LoRA that writes a plan in form every second time."""
    folder = tmp_path_factory.mktemp("started")
    asked = questions(folder / "data", 2, held_out=1)
    return folder / "data", half_in_form(folder, weights, asked[:1])


@pytest.fixture
def services() -> FakeServices:
    """They find one book and, in its photo, one region."""
    fakes = FakeServices()
    region = crop_region(PHOTO.jpeg)
    fakes.cropper.reply = CropReply(regions=[region], width=96, height=64)
    fakes.image_search.reply = ImageSearchReply(hits=[image_hit()], collection="images")
    return fakes


def finding_nothing() -> FakeServices:
    """Searches that bring nothing, so that nothing is left to filter."""
    fakes = FakeServices()
    fakes.image_search.reply = ImageSearchReply(hits=[], collection="images")
    fakes.text_search.reply = TextSearchReply(hits=[], collection="pages")
    return fakes


def questions(folder: Path, count: int, held_out: int = 0) -> list[Asked]:
    """So many questions in a data set of that folder, the last ones held out."""
    folder.mkdir(exist_ok=True)
    samples = [
        QuestionSample(
            id=digest("question", str(number)),
            task=Task.QUESTION,
            part=Part.HELD_OUT if number >= count - held_out else Part.TRAIN,
            origin=Origin(run="made", interaction_id=str(number), session_id=str(number)),
            photo=photo(folder, number),
            question=f"How many pages has book {number}?",
            gold="It has 312 pages.",
            accepted=("312",),
        )
        for number in range(count)
    ]
    write_samples(folder, Task.QUESTION, samples)
    return [Asked(sample, folder / sample.photo) for sample in samples]


def grpo_config(data: Path, weights: Path, **varied: Any) -> GrpoConfig:
    """Settings for a tiny model and a few steps."""
    given = {
        "data": [data],
        "model": {"weights": str(weights), "dtype": "float32", "gradient_checkpointing": False},
        "lora": {"rank": 8, "alpha": 16, "dropout": 0.0},
        "epochs": 50,
        "most_steps": 3,
        "learning_rate": 1e-3,
        "schedule": "constant",
        "group": 8,
        "batch_size": 8,
        "device_batch_size": 8,
        "checkpoint_every": 1000,
        "rewards": {"answer": 0, "tool_format": 1, "filter_format": 0},
    }
    return GrpoConfig.model_validate(given | varied)


@contextmanager
def base_saying(answer: str, traits: ServerTraits | None = None) -> Iterator[dict[str, str]]:
    """A frozen base on a server of its own: the config that names it."""
    script = {"describe_photo": says("A blue book."), "answer_from_knowledge": says(answer)}
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(vlm_server(script, traits)) as server,
    ):
        yield {"url": server.url, "model": server.model}


class Scripted:
    """A writer that knows its lines; it remembers what it was asked to go on from."""

    def __init__(self, chats: Chats, plan: str, knowledge: str, base: str = "I do not know.") -> None:
        self.asks: list[Ask] = []
        self._chats = chats
        self._lines = {"</tool>": plan, "</answer>": knowledge, "": base}

    def __call__(self, asks: Sequence[Ask]) -> list[Continuation]:
        self.asks += asks
        return [self._line(ask) for ask in asks]

    def _line(self, ask: Ask) -> Continuation:
        ids = [*self._chats.ids(self._lines[ask.ends_with]), self._chats.tokenizer.eos_token_id]
        kept = ended(ids, ask, self._chats.tokenizer)
        return Continuation(kept, [0.75] * len(kept) if ask.frozen else None)


def rolled(
    config: GrpoConfig,
    settings: GatewaySettings,
    chats: Chats,
    writer: Scripted,
    asked: Sequence[Asked],
    group: int = 1,
) -> list[Trajectory]:
    """Rollouts by a scripted writer."""

    async def work() -> list[Trajectory]:
        async with open_platform(config, settings) as platform:
            roller = Roller(chats, writer, config.forced_plan, config.rollout_s)
            return await roller.roll_out(platform, asked, group)

    return anyio.run(work)


def own_words(chats: Chats, trajectory: Trajectory) -> list[str]:
    """What carries loss, stretch by stretch."""
    stretches: list[list[int]] = [[]]
    for token, own in zip(trajectory.ids, trajectory.mask, strict=True):
        if own:
            stretches[-1].append(token)
        elif stretches[-1]:
            stretches.append([])
    return [chats.tokenizer.decode(ids) for ids in stretches if ids]


def test_a_rollout_is_the_pipeline_s_way_and_only_the_model_s_own_tokens_carry_loss(
    weights: Path, services: FakeServices, tmp_path: Path
) -> None:
    (asked,) = questions(tmp_path / "data", 1)
    chats = Chats(load(grpo_config(tmp_path, weights).model).processor)
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    with served(services) as settings, base_saying("It has 312 pages.") as base:
        config = grpo_config(tmp_path / "data", weights, base=base)
        (trajectory,) = rolled(config, settings, chats, writer, [asked])
    assert (trajectory.plan, trajectory.knowledge) == (PLAN, KNOWLEDGE)
    assert trajectory.answer == "It has 312 pages."
    assert own_words(chats, trajectory) == [PLAN + "<|im_end|>", KNOWLEDGE + "<|im_end|>"]
    told = chats.tokenizer.decode(
        [token for token, own in zip(trajectory.ids, trajectory.mask, strict=True) if not own]
    )
    assert "TASK: of what was retrieved" in told
    assert "has 312 pages" in told
    assert [len(service.calls) for service in (services.cropper, services.image_search)] == [1, 2]
    assert not trajectory.failed


@pytest.mark.parametrize("build", [tiny_qwen25_vl, tiny_qwen3_vl])
def test_the_filter_is_trained_on_the_tokens_that_the_platform_serves_it_with(
    build: Any, services: FakeServices, tmp_path: Path
) -> None:
    (asked,) = questions(tmp_path / "data", 1)
    config = grpo_config(tmp_path / "data", build(tmp_path / "model"))
    chats = Chats(load(config.model).processor)
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    sent: list[TextPrompt] = []

    write = rollout.Member.write

    async def listen(self: Any, prompt: TextPrompt, deadline: Any) -> Any:
        sent.append(prompt)
        return await write(self, prompt, deadline)

    with served(services) as settings, base_saying("312") as base, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollout.Member, "write", listen)
        config = config.model_copy(update={"base": type(config.base)(**base)})
        (trajectory,) = rolled(config, settings, chats, writer, [asked])
    plan, knowledge = (prompt for prompt in sent if prompt.name in {rollout.PLAN, rollout.FILTER})
    for prompt, ask in zip((plan, knowledge), writer.asks, strict=True):
        chat = Turn(messages_of(prompt), asked.photo)
        assert chats.inputs([chat])["input_ids"][0].tolist() == list(ask.ids)
    assert trajectory.prompt == writer.asks[0].ids


def test_a_forced_plan_is_carried_out_and_carries_no_loss(
    weights: Path, services: FakeServices, tmp_path: Path
) -> None:
    (asked,) = questions(tmp_path / "data", 1)
    chats = Chats(load(grpo_config(tmp_path, weights).model).processor)
    writer = Scripted(chats, LOOSE, KNOWLEDGE)
    forced = ForcedPlan(text=PLAN, share=0.5)
    with served(services) as settings, base_saying("312") as base:
        config = grpo_config(tmp_path / "data", weights, base=base, forced_plan=forced.model_dump())
        trajectories = rolled(config, settings, chats, writer, [asked] * 4, group=4)
    assert [each.forced for each in trajectories] == [True, True, False, False]
    assert [each.plan for each in trajectories] == [PLAN, PLAN, LOOSE, LOOSE]
    assert own_words(chats, trajectories[0]) == [KNOWLEDGE + "<|im_end|>"]
    assert own_words(chats, trajectories[2])[0] == LOOSE + "<|im_end|>"
    assert len(services.cropper.calls) == 2


def test_a_trajectory_says_how_sure_its_answer_was_if_the_base_told(
    weights: Path, services: FakeServices, tmp_path: Path
) -> None:
    (asked,) = questions(tmp_path / "data", 1)
    chats = Chats(load(grpo_config(tmp_path, weights).model).processor)

    def confidence(writer: Scripted, base: dict[str, str]) -> float | None:
        (trajectory,) = rolled(
            grpo_config(tmp_path / "data", weights, base=base), settings, chats, writer, [asked]
        )
        assert bool(trajectory.answer) is (writer is not refusing)
        return trajectory.confidence

    answering, refusing = Scripted(chats, PLAN, KNOWLEDGE, "It has 312 pages."), Scripted(chats, PLAN, LOOSE)
    with served(services) as settings:
        assert confidence(answering, {}) == pytest.approx(0.75)
        assert confidence(refusing, {}) == 0
        with base_saying("It has 312 pages.") as base:
            assert 0 < (confidence(answering, base) or 0) <= 1
        with base_saying("It has 312 pages.", ServerTraits(logprobs=False)) as base:
            assert confidence(answering, base) is None


def test_services_that_are_all_down_stop_the_training(weights: Path, tmp_path: Path) -> None:
    (asked,) = questions(tmp_path / "data", 1)
    config = grpo_config(tmp_path / "data", weights)
    chats = Chats(load(config.model).processor)
    nobody = GatewaySettings(
        **{
            f"{name}_url": "http://127.0.0.1:9"
            for name in ("image_search", "text_search", "cropper", "reranker")
        }
    )
    writer = Scripted(chats, PLAN, KNOWLEDGE)
    with pytest.raises(ServicesDown, match="image_search"):
        rolled(config, nobody, chats, writer, [asked])
    assert [ask.frozen for ask in writer.asks] == [
        False,
        True,
    ]  # the base answered all the same, without its LoRA


def test_a_fault_of_the_writer_is_raised_and_not_taken_for_a_bad_plan(
    weights: Path, services: FakeServices, tmp_path: Path
) -> None:
    (asked,) = questions(tmp_path / "data", 1)
    config = grpo_config(tmp_path / "data", weights)
    chats = Chats(load(config.model).processor)

    class OutOfMemory(Scripted):
        def __call__(self, asks: Sequence[Ask]) -> list[Continuation]:
            raise MemoryError("no room for the batch")

    with served(services) as settings, pytest.raises(MemoryError):
        rolled(config, settings, chats, OutOfMemory(chats, PLAN, KNOWLEDGE), [asked])


def test_what_pays_is_learnt(weights: Path, started: tuple[Path, Path], tmp_path: Path) -> None:
    data, adapter = started
    with served(finding_nothing()) as settings, base_saying("312") as base:
        config = grpo_config(data, weights, adapter=str(adapter), base=base, most_steps=7)
        run = begun(tmp_path / "run", config)
        tune(config, run, settings)
    steps = [line for line in run.metrics() if "reward" in line]
    earned = [line["rewards/tool_format/mean"] for line in steps]
    assert earned[0] < 0.8 < 0.85 < sum(earned[-4:]) / 4
    assert {f"rewards/{name}/mean" for name in NAMES} <= set(steps[0])
    kept = run.rollouts()
    assert [rollout["step"] for rollout in kept] == [step for step in range(7) for _ in range(8)]
    assert LOOSE in {rollout["plan"] for rollout in kept[:8]}
    assert LOOSE not in {rollout["plan"] for rollout in kept[-16:]}
    assert [each.in_form for each in run.predictions(AFTER)] == [True]
    assert (run.path / ADAPTER / "adapter_model.safetensors").exists()


def test_tokens_that_others_wrote_teach_nothing(
    weights: Path, started: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, adapter = started
    rolled_out = tuning.Rollouts._rolled_out

    def by_others(self: tuning.Rollouts, *given: Any, **named: Any) -> list[Trajectory]:
        made = rolled_out(self, *given, **named)
        for trajectory in made:
            trajectory.mask = [0] * len(trajectory.mask)
        return made

    before, learnt = load_file(str(adapter / "adapter_model.safetensors")), {}
    with served(finding_nothing()) as settings, base_saying("312") as base:
        config = grpo_config(data, weights, adapter=str(adapter), base=base, most_steps=2)
        for name in ("own", "others"):
            run = begun(tmp_path / name, config)
            tune(config, run, settings)
            learnt[name] = load_file(str(run.path / ADAPTER / "adapter_model.safetensors"))
            monkeypatch.setattr(tuning.Rollouts, "_rolled_out", by_others)
    assert all(learnt["others"][key].equal(before[key]) for key in before)
    assert not all(learnt["own"][key].equal(before[key]) for key in before)


def test_a_seed_twice_and_a_run_that_was_broken_off_give_the_same(
    weights: Path, started: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, adapter = started
    runs = {}
    with served(finding_nothing()) as settings, base_saying("312") as base:
        config = grpo_config(
            data, weights, adapter=str(adapter), base=base, most_steps=4, checkpoint_every=2, temperature=1.2
        )
        for name in ("one", "same", "broken"):
            runs[name] = begun(tmp_path / name, config)
            if name == "broken":
                break_off(monkeypatch, config, runs[name], settings)
            tune(config, runs[name], settings)
    learnt = {
        name: load_file(str(run.path / ADAPTER / "adapter_model.safetensors")) for name, run in runs.items()
    }
    for name in ("same", "broken"):
        assert all(learnt["one"][key].equal(learnt[name][key]) for key in learnt["one"])
        assert runs["one"].rollouts() == runs[name].rollouts()
        assert runs["one"].predictions(BEFORE) == runs[name].predictions(BEFORE)
    assert len({rollout["plan"] for rollout in runs["one"].rollouts()}) > 2


def test_held_out_questions_are_rolled_out_as_they_would_be_served_whatever_the_seed(
    weights: Path, started: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, adapter = started
    rolled_out, made = tuning.Rollouts._rolled_out, list[Trajectory]()

    def listening(self: tuning.Rollouts, *given: Any, **named: Any) -> list[Trajectory]:
        trajectories = rolled_out(self, *given, **named)
        made.extend(trajectories)
        return trajectories

    monkeypatch.setattr(tuning.Rollouts, "_rolled_out", listening)
    config = grpo_config(
        data,
        weights,
        adapter=str(adapter),
        most_steps=1,
        group=2,
        batch_size=2,
        device_batch_size=2,
        temperature=2.0,
    )
    with served(finding_nothing()) as settings:
        for seed in (0, 1):
            seeded = config.model_copy(update={"seed": seed})
            run = begun(tmp_path / str(seed), seeded)
            tune(seeded, run, settings)
            assert [each.confidence is None for each in run.predictions(BEFORE)] == [False]
    before, learnt, also_learnt, _, before_again, learnt_again, *_ = [each.ids for each in made]
    assert before == before_again
    assert learnt not in (also_learnt, learnt_again)  # these are sampled


def begun(folder: Path, config: GrpoConfig) -> RunFolder:
    """A run that says nothing."""
    run = RunFolder(folder, say=lambda _: None)
    run.begin(dump_config(config))
    return run


def break_off(
    monkeypatch: pytest.MonkeyPatch, config: GrpoConfig, run: RunFolder, settings: GatewaySettings
) -> None:
    """Train until the power fails in the fourth step."""
    of_batch = tuning.Rollouts.of_batch

    def until_the_fourth(self: tuning.Rollouts, trainer: Any) -> dict[str, Any]:
        made = of_batch(self, trainer)
        if trainer.state.global_step == 3:
            raise SystemExit("the power failed")
        return made

    with monkeypatch.context() as patch:
        patch.setattr(tuning.Rollouts, "of_batch", until_the_fourth)
        with pytest.raises(SystemExit):
            tune(config, run, settings)
    assert run.begin(dump_config(config))


def half_in_form(folder: Path, weights: Path, asked: Sequence[Asked]) -> Path:
    """A LoRA that writes a plan in form about every second time."""
    options = model_options(GatewaySettings())
    chats = folder / "chats"
    samples = [
        ConversationSample(
            id=digest(each.sample.id, label),
            task=Task.FILTER,
            part=Part.TRAIN,
            origin=each.sample.origin,
            photo=photo(chats, number),
            messages=messages_of(plan_prompt(each.query, options)),
            label=label,
            source=Label.OWN,
            question=each.sample.question,
        )
        for number, each in enumerate(asked)
        for label in (PLAN, LOOSE)
    ]
    write_samples(chats, Task.FILTER, samples)
    config = sft_config(
        chats,
        weights,
        tasks=["filter"],
        epochs=45,
        lora={"rank": 8, "alpha": 16, "dropout": 0.0},
        max_reply_tokens=200,
    )
    return trained(config, folder / "started").path / ADAPTER


def test_nothing_to_learn_from_is_said(weights: Path, tmp_path: Path) -> None:
    questions(tmp_path / "data", 1, held_out=1)
    config = grpo_config(tmp_path / "data", weights)
    run = begun(tmp_path / "run", config)
    with pytest.raises(WrongConfig, match="--task question"):
        tune(config, run, GatewaySettings())


@pytest.mark.parametrize(
    ("varied", "said"),
    [
        ({"batch_size": 16}, "The questions to learn from, 1, are too few .* 8 at most"),
        ({"batch_size": 8, "device_batch_size": 3}, "batch_size, 8, must be a multiple of .*, 3, times"),
    ],
)
def test_a_batch_that_cannot_be_filled_or_cut_is_refused_before_anything_is_learnt(
    weights: Path, tmp_path: Path, varied: dict[str, int], said: str
) -> None:
    questions(tmp_path / "data", 1)
    config = grpo_config(tmp_path / "data", weights, **varied)
    run = begun(tmp_path / "run", config)
    with pytest.raises(WrongConfig, match=said):
        tune(config, run, GatewaySettings())
