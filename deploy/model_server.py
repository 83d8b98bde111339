"""A model server that runs already (Ollama, llama.cpp, LM Studio, vLLM, hosted): its model and its speed."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PIL import Image

from chassis.errors import LoreglassError
from chassis.http.calls import http_client
from chassis.http.client import HttpClient
from chassis.resilience.deadlines import Deadline
from chassis.startup import CannotStart
from gateway.llm.call import VlmCall, VlmEndpoint
from gateway.llm.capabilities import EVERYTHING, Abilities
from gateway.llm.client import VlmClient
from gateway.llm.completion import Written
from gateway.llm.failures import VlmKeyRefused
from gateway.llm.probe import probe
from gateway.llm.prompt import ImagePart, TextPart, TextPrompt
from gateway.llm.wire import ServedModel
from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH
from gateway.planning.advice import deadline_advice
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import VlmSpeed, load_latencies
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.settings import GatewaySettings
from gateway.state import GenerationBudget
from gateway.thresholds import RetrievalLimits

_ANSWERS_WITHIN_MS = 180_000.0
"""A laptop reads its model from disk before the first word."""
_LISTS_WITHIN_MS = 10_000.0
_WRITES = 24
_LONG_TOKENS, _CHARS_A_TOKEN = 1_000, 4
_PHOTO_SIDE = 1_024
_CONTEXT_NEEDED = 5_000
"""Instructions and examples, the photo, 6,000 characters of evidence, and the reply."""

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Where a model answers, how fast, and what it can do."""

    url: str
    model: str
    speed: VlmSpeed
    abilities: Abilities = EVERYTHING

    def question_ms(self, latencies: str) -> float:
        """What a looked-up question is expected to take with this model, milliseconds. `latencies`: the table
        of the node's other stages.
        """
        estimates = Estimates(load_latencies(latencies, self.speed))
        plan = Plan.full(RetrievalLimits(), GenerationBudget())
        return Planner(plan, estimates).expected_ms(plan, (), 1, STAGE_GRAPH)

    def described(self, gateway: GatewaySettings) -> str:
        """Its speed, what it can do, and, where it is slower than callers wait, what to do about that."""
        speed, question_ms = self.speed, self.question_ms(gateway.latencies)
        writes = 1000 / max(speed.decode_ms_per_token, 0.1)
        said = (
            f"Answers come from {self.model} at {self.url}: its first word after a photo takes "
            f"{speed.vision_ms / 1000:.1f} s, 1,000 tokens to read {speed.prefill_ms_per_1k / 1000:.1f} s, "
            f"and it writes {writes:.0f} tokens a second; a question takes about {question_ms / 1000:.0f} s."
        )
        advice = deadline_advice(question_ms, gateway.answer_deadline_ms, gateway.max_deadline_ms)
        can = told_abilities(self.abilities.described)
        return "\n".join(filter(None, (said, f"It takes photos. {can} {self._context()}", advice)))

    def _context(self) -> str:
        if not self.abilities.context:
            return (
                f"It does not tell its context, of which a question needs about {_CONTEXT_NEEDED:,} tokens "
                "(Ollama: OLLAMA_CONTEXT_LENGTH=8192)."
            )
        enough = (
            ""
            if self.abilities.context >= _CONTEXT_NEEDED
            else f"; a question needs about {_CONTEXT_NEEDED:,}"
        )
        return f"Its context is {self.abilities.context:,} tokens{enough}."


def told_abilities(described: Mapping[str, str]) -> str:
    """What the probe found, as a sentence."""
    said = "; ".join(f"{name.replace('_', ' ')}: {found}" for name, found in described.items())
    return f"{said[:1].upper()}{said[1:]}."


async def find_model(
    url: str,
    name: str = "",
    key: str = "",
    tell: Tell = lambda _: None,
    http: HttpClient | None = None,
) -> ModelServer:
    """The server's only model, or the named one, measured with four short calls and probed with two.

    Raises `CannotStart`: the server is not there, serves none or several, or the model takes no photos.
    """
    if http is None:
        async with http_client() as opened:
            return await find_model(url, name, key, tell, opened)
    chosen = await _chosen(http, VlmEndpoint(url, name, key))
    tell(f"Measuring {chosen.id} at {url}: six short calls; the first one may have to load it ...")
    speed, abilities = await _measured(http, VlmEndpoint(url, chosen.id, key))
    return ModelServer(url, chosen.id, speed, abilities)


async def _chosen(http: HttpClient, endpoint: VlmEndpoint) -> ServedModel:
    url = endpoint.base_url
    try:
        served = await VlmClient(http, endpoint).served(Deadline.after_ms(_LISTS_WITHIN_MS))
    except VlmKeyRefused as error:
        raise CannotStart(f"The model server at {url} wants another key (LOREGLASS_MODEL_KEY).") from error
    except LoreglassError as error:
        raise CannotStart(
            f"No model server at {url} lists its models. Is it running, and is that its address?"
        ) from error
    named = next((each for each in served if each.id == endpoint.model), None)
    if named is not None:
        return named
    listed = ", ".join(each.id for each in served) or "none"
    if endpoint.model:
        raise CannotStart(f"The server at {url} has no model {endpoint.model}; it has: {listed}.")
    if len(served) != 1:
        raise CannotStart(f"Name one of the models at {url} with MODEL_NAME; it has: {listed}.")
    return served[0]


async def _measured(http: HttpClient, endpoint: VlmEndpoint) -> tuple[VlmSpeed, Abilities]:
    """The first of four calls only loads the model. Each begins with other words, so that none is cached.
    The probe comes after them.

    `vision_ms` is the whole time to the first token after a photo: every call has a photo, so what a call
    costs whatever is asked belongs to it.
    """
    calls: list[VlmCall] = []
    client = VlmClient(http, endpoint, calls.append)

    async def call(system: str, *parts: TextPart | ImagePart) -> tuple[VlmCall, Written]:
        prompt = TextPrompt("probe", system, (*parts, TextPart("Count upwards from one, in words.")), _WRITES)
        written = await client.write(prompt, Deadline.after_ms(_ANSWERS_WITHIN_MS))
        return calls[-1], written

    try:
        await call("You count.")
        short, written = await call("You are asked to count, and count.")
        long, _ = await call(f"Count, whatever these words are. {'word ' * _LONG_TOKENS}")
    except LoreglassError as error:
        raise CannotStart(f"{endpoint.model} does not answer a short question: {error.detail}") from error
    try:
        seeing, _ = await call("There is a photo; count all the same.", ImagePart(_photo()))
    except LoreglassError as error:
        raise CannotStart(
            f"{endpoint.model} takes no photos, or fails at one. Choose one that sees."
        ) from error
    try:
        abilities = await probe(client, Deadline.after_ms(_ANSWERS_WITHIN_MS))
    except LoreglassError as error:
        raise CannotStart(f"{endpoint.model} fails when it is asked for an object: {error.detail}") from error
    first_ms, long_ms, seeing_ms = (
        1000 * (each.first_token_s or each.seconds) for each in (short, long, seeing)
    )
    tokens = short.usage.completion_tokens if short.usage else len(written.text) / _CHARS_A_TOKEN
    speed = VlmSpeed(
        vision_ms=seeing_ms,
        prefill_ms_per_1k=max(0.0, long_ms - first_ms),
        decode_ms_per_token=max(0.0, 1000 * short.seconds - first_ms) / max(tokens - 1, 1),
    )
    return speed, abilities


def _photo() -> bytes:
    """As large as photos are that questions come with, and of nothing."""
    buffer = io.BytesIO()
    Image.effect_noise((_PHOTO_SIDE, _PHOTO_SIDE * 3 // 4), 60).convert("RGB").save(buffer, "JPEG")
    return buffer.getvalue()
