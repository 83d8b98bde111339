"""Questions, settings and a frozen base for tests of GRPO."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from bench.node import ServerTraits, says, vlm_server
from contracts.image_search import ImageSearchReply
from contracts.text_search import TextSearchReply
from gateway.clients.services import Services
from gateway.settings import GatewaySettings
from tests.live import live
from tests.training.made import photo
from tests.training.tiny_models import tiny_qwen25_vl
from tests.unit.gateway.fakes import FakeServices
from training.grpo.rollout import Question
from training.grpo.settings import GrpoConfig
from training.samples import Origin, Part, QuestionSample, Task, digest, write_samples

PLAN = "<think>Small.</think>\n<tool>\n1. grounding: the book\n</tool>"
KNOWLEDGE = "<think>Piece 1.</think>\n<answer>It has 312 pages.</answer>"
LOOSE = "I would look at the book."
ROOT = Path(__file__).resolve().parents[2]


def tiny_model(folder: Path) -> Path:
    """A tiny Qwen2.5-VL whose tokenizer was made from the prompts, so that they are short."""
    prompts = [path.read_text("utf-8") for path in sorted((ROOT / "gateway").rglob("prompts/*.toml"))]
    return tiny_qwen25_vl(folder, [*prompts, *[PLAN, LOOSE, KNOWLEDGE] * 5], 1500)


def questions(folder: Path, count: int, held_out: int = 0) -> list[Question]:
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
    return [Question(sample, folder / sample.photo) for sample in samples]


def grpo_config(data: Path, weights: Path, **varied: Any) -> GrpoConfig:
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
    script = {
        "describe_photo": says("A blue book."),
        "answer_from_knowledge": says(answer),
        "answer_in_short": says("312"),
    }
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(vlm_server(script, traits)) as server,
    ):
        yield {"url": server.url, "model": server.model}


def finding_nothing() -> FakeServices:
    """Return services whose searches find nothing, so that the filter step gets no evidence."""
    fakes = FakeServices()
    fakes.image_search.reply = ImageSearchReply(hits=[], collection="images")
    fakes.text_search.reply = TextSearchReply(hits=[], collection="pages")
    return fakes


@contextmanager
def served(services: FakeServices) -> Iterator[GatewaySettings]:
    """Settings of a gateway before these services."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(live(services.app())) as client:
        url = str(client.base_url)
        yield GatewaySettings(**{f"{name}_url": url for name in Services.names()})
