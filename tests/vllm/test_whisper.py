"""Whisper on a real vLLM with the preset's flags."""

import io
import math
import wave
from array import array
from collections.abc import Iterator

import httpx
import pytest
import torch
import transformers

from services.speech.presets import PRESETS
from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import Serving, serving

RATE = 16_000
PROMPT = ("<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>")
TOKENS = 24  # compared: random weights go on to the end of the context


@pytest.fixture(scope="module")
def vllm(environment: VllmEnvironment) -> Iterator[Serving]:
    """A Whisper of random weights, with all that the preset says but its weights and type."""
    command = PRESETS["vllm-whisper"].command
    flags = command[command.index("--max-model-len") :]
    with serving(environment, environment.models / "whisper", *flags) as running:
        yield running


def tone(hertz: float, seconds: float = 1.0) -> list[int]:
    """Samples of 16 bits."""
    steps = range(int(RATE * seconds))
    return [int(9_000 * math.sin(2 * math.pi * hertz * step / RATE)) for step in steps]


def wav(samples: list[int]) -> bytes:
    """16 kHz, mono, as the gateway sends whatever it was sent."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(array("h", samples).tobytes())
    return written.getvalue()


def heard(vllm: Serving, sound: bytes, **fields: str) -> httpx.Response:
    data = {"model": vllm.model, "response_format": "json", **fields}
    files = {"file": ("question.wav", sound, "audio/wav")}
    return httpx.post(f"{vllm.url}/v1/audio/transcriptions", files=files, data=data, timeout=120)


def expected(environment: VllmEnvironment, samples: list[int]) -> str:
    """What transformers hears with the same weights."""
    folder = environment.models / "whisper"
    model = transformers.WhisperForConditionalGeneration.from_pretrained(folder).eval()
    extractor = transformers.WhisperFeatureExtractor.from_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    sound = [sample / 32_768 for sample in samples]
    features = extractor(sound, sampling_rate=RATE, return_tensors="pt").input_features
    tokens = tokenizer.convert_tokens_to_ids(list(PROMPT))
    with torch.no_grad():
        encoded = model.get_encoder()(features)
        for _ in range(TOKENS):
            logits = model(encoder_outputs=encoded, decoder_input_ids=torch.tensor([tokens])).logits
            tokens.append(int(logits[0, -1].argmax()))
    written: str = tokenizer.decode(tokens[len(PROMPT) :], skip_special_tokens=True)
    return written


@pytest.mark.parametrize("hertz", [220.0, 880.0])
def test_transcript_equals_transformers(vllm: Serving, environment: VllmEnvironment, hertz: float) -> None:
    reply = heard(vllm, wav(tone(hertz)), language="en")
    assert reply.status_code == 200
    wanted = expected(environment, tone(hertz)).strip()
    assert wanted
    assert reply.json()["text"].strip().startswith(wanted)


def test_unset_language_is_detected_from_audio(vllm: Serving) -> None:
    before = vllm.metric("vllm:request_success_total")
    reply = heard(vllm, wav(tone(440.0)))
    assert reply.status_code == 200
    assert isinstance(reply.json()["text"], str)
    assert vllm.metric("vllm:request_success_total") == before + 2  # first the language, then the words
