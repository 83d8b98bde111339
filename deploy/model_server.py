"""A model server that runs already (Ollama, llama.cpp, LM Studio, vLLM, hosted): its model and its speed."""

import io
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from PIL import Image

from chassis.errors import DeadlineExceeded, LoreglassError, Overloaded
from chassis.http.calls import http_client
from chassis.http.client import Endpoint, HttpClient
from chassis.resilience.deadlines import Deadline
from chassis.startup import CannotStart
from gateway.llm.capabilities import EVERYTHING, TEXT_ONLY_NOTE, Abilities
from gateway.llm.client import Trial, VlmClient
from gateway.llm.probe import probe
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from gateway.llm.server import (
    ContextTooLong,
    NotThisApi,
    Redirected,
    RequestRefused,
    ServedModel,
    ServerFailed,
    VlmKeyRefused,
)
from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import VlmSpeed, load_latencies
from gateway.planning.plan import CHARS_A_TOKEN, Plan
from gateway.planning.planner import Planner
from gateway.planning.stages import deadline_advice
from gateway.settings import GatewaySettings
from gateway.state import GenerationBudget
from gateway.steps.answering import spared_stages
from gateway.thresholds import RetrievalLimits

_ANSWERS_WITHIN_MS = 180_000.0
"""A laptop reads its model from disk before the first word."""
_LISTS_WITHIN_MS = 10_000.0
_WRITES = 24
_SHORT, _LEAST, _MOST = 20, 100, 1_000
"""Words of the short text, and bounds of the long one, which shall take about `_LONG_S` to read."""
_LONG_S = 8.0
_WORDS = (
    "apple bank bird book bread bridge car cat chair city cloud coat cup desk dog door farm field fire fish "
    "garden glass grass hand hat hill horse house island key lake lamp leaf letter map milk moon paper park "
    "rain ring river road rock roof room rose salt sand sea ship shoe snow stone street sun table tree wall"
)
_MOST_REASON = 200
_PHOTO_SIDE = 1_024
_CONTEXT_NEEDED, _CONTEXT_OF_TEXT = 4_500, 2_000
"""Tokens of a question with a photo, and without: instructions, 3,000 characters of evidence, the reply."""

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model on a server: its address, speed and abilities."""

    url: str
    model: str
    speed: VlmSpeed
    abilities: Abilities = EVERYTHING

    def question_ms(self, latencies: str) -> float:
        """Return how long a looked-up question is expected to take with this model, in milliseconds.

        `latencies`: the table of the node's other stages. A model that sees no photos makes no draft.
        """
        estimates = Estimates(load_latencies(latencies, self.speed))
        plan = Plan.full(RetrievalLimits(), GenerationBudget())
        without = spared_stages(sees_photos=self.abilities.sees_photos)
        return Planner(plan, estimates).expected_ms(plan, without, 1, STAGE_GRAPH)

    def description(self, gateway: GatewaySettings) -> str:
        """Return its speed and abilities and, if it is slower than callers wait, what to do."""
        speed, question_ms = self.speed, self.question_ms(gateway.latencies)
        writes = 1000 / max(speed.decode_ms_per_token, 0.1)
        after = " after a photo" if self.abilities.sees_photos else ""
        speeds = (
            f"Answers come from {self.model} at {self.url}: its first word{after} takes "
            f"{speed.vision_ms / 1000:.1f} s, 1,000 tokens to read {speed.prefill_ms_per_1k / 1000:.1f} s, "
            f"and it writes {writes:.0f} tokens a second; a question takes about {question_ms / 1000:.0f} s."
        )
        waits = f"Callers who name no deadline wait for {gateway.answer_deadline_ms / 1000:.0f} s."
        advice = deadline_advice(question_ms, gateway.answer_deadline_ms, gateway.max_deadline_ms)
        sees, able = "", self.abilities.described
        if not self.abilities.sees_photos:
            sees = f"{self.model} {TEXT_ONLY_NOTE}."
            del able["photos"]
        can = f"{abilities_sentence(able)} {self._context()}"
        return "\n".join(filter(None, (speeds, sees, can, advice or waits)))

    def _context(self) -> str:
        needed = _CONTEXT_NEEDED if self.abilities.sees_photos else _CONTEXT_OF_TEXT
        if not self.abilities.context:
            return (
                f"It does not tell its context, of which a question needs about {needed:,} tokens "
                "(Ollama: OLLAMA_CONTEXT_LENGTH=8192)."
            )
        enough = "" if self.abilities.context >= needed else f"; a question needs about {needed:,}"
        return f"Its context is {self.abilities.context:,} tokens{enough}."


def abilities_sentence(described: Mapping[str, str]) -> str:
    """Return what a probe found, as a sentence."""
    text = "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in described.items())
    return f"{text[:1].upper()}{text[1:]}."


async def find_model(
    url: str,
    name: str = "",
    key: str = "",
    tell: Tell = lambda _: None,
    http: HttpClient | None = None,
) -> ModelServer:
    """Return the server's only model, or the named one, measured with four short calls and probed with two.

    Raises `CannotStart`: no server is there, it has none or several models, or the model does not answer.
    """
    if http is None:
        async with http_client() as opened:
            return await find_model(url, name, key, tell, opened)
    model = await _choose(VlmClient(http, Endpoint(url, name, key)), url, name)
    tell(f"Measuring {model.id} at {url}: up to six short calls; the first one may have to load it ...")
    client = VlmClient(http, Endpoint(url, model.id, key))
    speed, taken = await _measure(client, model.id)
    try:
        abilities = await probe(client, Deadline.after_ms(_ANSWERS_WITHIN_MS), taken)
    except LoreglassError as error:
        raise CannotStart(f"{model.id} fails when it is asked for an object: {error.detail}") from error
    return ModelServer(url, model.id, speed, abilities)


async def _choose(client: VlmClient, url: str, name: str) -> ServedModel:
    served = await _list_models(client, url)
    if name:
        match = next((each for each in served if each.id == name), None)
        if match is None:
            listed = ", ".join(each.id for each in served)
            raise CannotStart(f"The server at {url} has no model {name}. It has: {listed}.")
        return match
    chatting = [each for each in served if each.chats]
    if len(chatting) == 1:
        return chatting[0]
    listed = ", ".join(each.id for each in chatting or served)
    what = "several models" if chatting else "no model that chats"
    raise CannotStart(
        f"The server at {url} has {what}: {listed}. Name one: --model-name NAME, or "
        "LOREGLASS_MODEL_NAME=NAME (make serve: MODEL_NAME=NAME)."
    )


async def _list_models(client: VlmClient, url: str) -> list[ServedModel]:
    try:
        served = await client.account.models(Deadline.after_ms(_LISTS_WITHIN_MS))
    except VlmKeyRefused as error:
        raise CannotStart(f"The model server at {url} wants another key (LOREGLASS_MODEL_KEY).") from error
    except Redirected as error:
        raise CannotStart(
            f"The server at {url} redirects to {error.target.removesuffix('/models')}. Use that address."
        ) from error
    except NotThisApi as error:
        raise CannotStart(
            f"The server at {url} has no OpenAI-compatible API there. Its address usually ends in /v1."
        ) from error
    except (Overloaded, DeadlineExceeded) as error:
        raise CannotStart(
            f"The server at {url} is busy or still loads its model. Try again in a moment."
        ) from error
    except LoreglassError as error:
        raise CannotStart(f"No model server at {url}. Start it, or correct the address.") from error
    if not served:
        raise CannotStart(f"The server at {url} has no models. Load one first (Ollama: ollama pull NAME).")
    return served


async def _measure(client: VlmClient, model: str) -> tuple[VlmSpeed, Abilities]:
    """The model's speed, and the abilities that the calls were made with. The first call only loads it.

    Calls follow one another, for servers with one slot. Every text is unique, so that no cache of an earlier
    start answers; reading speed is the difference between a short and a long one. `vision_ms` is the whole
    time to the first token after a photo (after a short text where photos are not seen): what a call costs
    whatever is asked belongs to it.
    """
    taken = EVERYTHING

    async def call(words: int, writes: int = 1, *parts: ImagePart) -> Trial:
        nonlocal taken
        task = TextPart(f"Count upwards from one, in words. Ignore this: {_unique_words(words)}")
        prompt = Prompt("probe", _unique_words(4), (*parts, task), str, writes)
        trial = await client.trial(prompt, taken, Deadline.after_ms(_ANSWERS_WITHIN_MS))
        taken = trial.taken
        return trial

    try:
        await call(_SHORT)
        short = await call(_SHORT, _WRITES)
        if not short.reply.text:
            short = await call(_SHORT, _WRITES)
        words = int(min(_MOST, max(_LEAST, 2 * _SHORT * _LONG_S / short.first_token_s)))
        long = await call(words)
        photo = short
        if taken.sees_photos:
            try:
                photo = await call(_SHORT, 1, ImagePart(_photo()))
            except (RequestRefused, ServerFailed, ContextTooLong, DeadlineExceeded):  # text works
                taken = replace(taken, sees_photos=False)
    except RequestRefused as refusal:
        raise CannotStart(_refusal(model, refusal)) from refusal
    except LoreglassError as error:
        raise CannotStart(f"{model} does not answer a short question: {error.detail}") from error
    return _speed(short, long, photo if taken.sees_photos else short, words - _SHORT), taken


def _speed(short: Trial, long: Trial, photo: Trial, words: int) -> VlmSpeed:
    """`words`: how many more the long text has; the server's own count of tokens goes before it."""
    read = words
    if short.reply.usage and long.reply.usage:
        read = max(words // 2, long.reply.usage.prompt_tokens - short.reply.usage.prompt_tokens)
    usage, text = short.reply.usage, short.reply.text
    tokens = usage.completion_tokens if usage else len(text) / CHARS_A_TOKEN
    return VlmSpeed(
        vision_ms=1000 * photo.first_token_s,
        prefill_ms_per_1k=max(0.0, 1e6 * (long.first_token_s - short.first_token_s) / read),
        decode_ms_per_token=1000 * max(0.0, short.seconds - short.first_token_s) / max(tokens - 1, 1),
    )


def _refusal(model: str, refusal: RequestRefused) -> str:
    """Return why the model cannot answer the simplest question, and what to do."""
    if "chat template" in refusal.complaint.lower():
        return (
            f"{model} has no chat template, so it cannot chat. Serve a model that was made for chat, or "
            "start its server with a template (vLLM: --chat-template FILE)."
        )
    reason = " ".join(filter(str.isprintable, refusal.complaint.split()))
    return f"{model} refuses a short question with status {refusal.status}: {reason[:_MOST_REASON]}"


def _unique_words(count: int) -> str:
    """Words that no earlier start sent in this order; each is about one token."""
    return " ".join(random.SystemRandom().choices(_WORDS.split(), k=count))


def _photo() -> bytes:
    """Return a photo of noise, as large as those of questions."""
    buffer = io.BytesIO()
    Image.effect_noise((_PHOTO_SIDE, _PHOTO_SIDE * 3 // 4), 60).convert("RGB").save(buffer, "JPEG")
    return buffer.getvalue()
