"""The domain router: its engine, its temperature, and its service."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from contracts.domain_router import ClassifyReply, Domain
from services.domain_router.app import create_app
from services.domain_router.engines.builtin import BuiltinDomainRouter
from services.domain_router.measures import best_temperature, log_loss
from services.domain_router.settings import DomainRouterSettings
from tests.live import live
from tests.unit.chassis.pictures import encoded

ENGINE = BuiltinDomainRouter()
DOMAINS = list(Domain)


def classify(question: str, recognized_text: str = "") -> tuple[Domain, float]:
    probabilities = ENGINE.classify(question, recognized_text, None)
    best = int(np.argmax(probabilities))
    return DOMAINS[best], probabilities[best]


@pytest.mark.parametrize(
    ("question", "domain"),
    [
        ("what breed is the puppy on my sofa?", Domain.ANIMAL),
        ("who is the author of this paperback?", Domain.BOOK),
        ("when was the cathedral behind the fountain built?", Domain.LOCAL),
        ("what does the handwritten note say, can you translate it?", Domain.TEXT_UNDERSTANDING),
    ],
)
def test_a_plain_question_goes_to_its_domain(question: str, domain: Domain) -> None:
    assert classify(question)[0] is domain


def test_photo_text_helps_vague_questions() -> None:
    domain, probability = classify("who made this?", "a novel by the bestselling author, second edition")
    assert domain is Domain.BOOK
    assert probability > 0.5 > classify("who made this?")[1]


def test_a_question_without_a_clue_is_not_decided() -> None:
    assert all(classify(question)[1] < 0.5 for question in ("?", "this", "hm", "what"))


@given(st.text(max_size=120), st.text(max_size=200))
@settings(max_examples=20, deadline=None)
def test_any_text_gets_a_distribution(question: str, recognized_text: str) -> None:
    probabilities = ENGINE.classify(question, recognized_text, None)
    assert len(probabilities) == len(DOMAINS)
    assert math.isclose(sum(probabilities), 1.0, rel_tol=1e-5)
    assert min(probabilities) >= 0.0


@pytest.mark.parametrize("overconfidence", [0.5, 1.0, 3.0, 6.0])
def test_the_temperature_undoes_overconfidence(overconfidence: float) -> None:
    generator = np.random.default_rng(3)
    honest = generator.normal(0, 1.5, (400, 3))
    probabilities = np.exp(honest) / np.exp(honest).sum(axis=1, keepdims=True)
    labels = np.array([generator.choice(3, p=row) for row in probabilities])
    result = best_temperature(honest * overconfidence, labels)
    assert result == pytest.approx(overconfidence, rel=0.2)
    assert log_loss(honest * overconfidence / result, labels) <= log_loss(honest * overconfidence, labels)


async def test_each_domain_has_a_probability_and_a_damaged_photo_is_refused() -> None:
    fields = {"question": "Who wrote this novel?", "recognized_text": "a novel"}
    async with live(create_app(DomainRouterSettings(port=0))) as client:
        photo = encoded(Image.new("RGB", (64, 48), "green"), "JPEG")
        reply = await client.post("/v1/classify", data=fields, files={"image": photo})
        damaged = await client.post("/v1/classify", data=fields, files={"image": photo[:200]})
    (only,) = ClassifyReply.model_validate(reply.json()).data
    assert only.label is Domain.BOOK
    assert only.num_classes == len(only.probs) == len(Domain)
    assert only.probs[only.index] == max(only.probs)
    assert damaged.json()["type"] == "urn:loreglass:problem:corrupt_image"
