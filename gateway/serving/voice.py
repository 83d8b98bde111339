"""Speech in and out: a recording becomes the words of its question, an answer gets the URL of its sound."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pydantic import SecretStr

from chassis.errors import NotConfigured
from chassis.http.client import Endpoint, HttpClient
from contracts.answer import Reason, Route
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.serving.admission import Admission
from gateway.serving.guards import Guards
from gateway.serving.metrics import GatewayMetrics
from gateway.serving.stores import Stores
from gateway.serving.tenants import Caller
from gateway.settings import GatewaySettings
from gateway.speech.audio import Sound, SoundDecoders
from gateway.speech.servers import SpeechServer, Synthesizer, Transcriber
from gateway.speech.spoken_answers import SignedSpeechUrls, SoundCache, SpokenText, speakable
from gateway.state import Query, reason_of
from gateway.steps.conclusion import Outcome, refusal
from gateway.store import MemoryStore

_NOT_HEARD_NOW = "I could not hear your question just now. Please type it, or say it again."
_MOST_WORDS_CHARS = 2_000

Server = TypeVar("Server", bound=SpeechServer)


@dataclass(frozen=True, slots=True)
class Voice:
    """The parts that are set up here; None for those that are not.

    `turns`: who may use the server of this name next, besides questions, which have their own. `decoders`: of
    what was recorded.
    """

    decoders: SoundDecoders
    slots: Admission
    turns: Mapping[str, Admission] = field(default_factory=dict)
    transcriber: Transcriber | None = None
    synthesizer: Synthesizer | None = None
    signed_urls: SignedSpeechUrls | None = None
    sound_cache: SoundCache = field(default_factory=lambda: SoundCache(MemoryStore(), 1.0))
    most_chars: int = 4_096

    def require_transcriber(self) -> Transcriber:
        if self.transcriber is None:
            raise NotConfigured("No transcription server is set up here: send the question as text.")
        return self.transcriber

    def require_synthesizer(self) -> Synthesizer:
        if self.synthesizer is None:
            raise NotConfigured("No speech server is set up here.")
        return self.synthesizer

    async def find(self, address_id: str) -> SpokenText:
        """Return what an address stands for. Raises `NotConfigured` or `NotFound`."""
        self.require_synthesizer()
        assert self.signed_urls is not None
        return await self.signed_urls.find(address_id)

    async def transcribe(self, query: Query, sound: Sound, run: Run) -> Query | Outcome:
        """The query with the words of `sound`, or a refusal where there are none, and no others either."""
        transcriber, size = self.require_transcriber(), Work(items=math.ceil(sound.seconds))
        async with run.optional(Stage.TRANSCRIPTION), run.stage(Stage.TRANSCRIPTION, size) as deadline:
            words = (await transcriber.transcribe(sound, deadline)).text
            await run.tell_transcript(words[:_MOST_WORDS_CHARS])
        query = with_words(query, run.transcript)
        if query.question:
            return query
        failure = run.failures.get(Stage.TRANSCRIPTION)
        if failure is None:
            return refusal(Reason.NOT_HEARD, Route.RAG)
        return replace(refusal(reason_of(failure), Route.RAG), answer=_NOT_HEARD_NOW)

    async def address(self, text: str, caller: Caller, run: Run) -> str | None:
        """Return where `text`, which is final, can be heard for a while; None where nothing speaks."""
        if self.signed_urls is None:
            return None
        plain = speakable(text, self.most_chars)
        if not plain:
            return None
        async with run.optional(Stage.SPEECH), run.stage(Stage.SPEECH):
            return await self.signed_urls.give(
                SpokenText(text=plain, tenant=caller.tenant, priority=caller.priority)
            )
        return None


def open_voice(
    settings: GatewaySettings,
    http: HttpClient,
    guards: Guards,
    stores: Stores,
    decoders: SoundDecoders,
    metrics: GatewayMetrics,
) -> Voice:
    """Return the speech servers that the settings name, with a queue for each."""
    turns: dict[str, Admission] = {}

    def server(
        kind: type[Server], name: str, url: str, model: str, key: SecretStr, at_once: int
    ) -> Server | None:
        if not url:
            return None
        turns[name] = metrics.open_admission(name, at_once, settings.max_waiting)
        endpoint = Endpoint(url, model, key.get_secret_value(), name)
        return kind(http, endpoint, guards.guard(name, at_once))

    ttl_s = settings.session_ttl_s
    stt, tts = settings.stt_key, settings.tts_key
    transcriber = server(Transcriber, "stt", settings.stt_url, settings.stt_model, stt, settings.stt_at_once)
    synthesizer = server(Synthesizer, "tts", settings.tts_url, settings.tts_model, tts, settings.tts_at_once)
    addresses = SignedSpeechUrls(stores.signing_secret, stores.answers, ttl_s) if synthesizer else None
    return Voice(
        decoders=decoders,
        slots=Admission(settings.audio_decoders, settings.max_in_flight + settings.max_waiting),
        turns=turns,
        transcriber=transcriber,
        synthesizer=synthesizer,
        signed_urls=addresses,  # valid as long as an answer, which holds the URL, is stored for repeats
        sound_cache=SoundCache(stores.sounds, ttl_s),
    )


def with_words(query: Query, words: str | None) -> Query:
    """Return the query with the words of its recording after its text."""
    return query if words is None else replace(query, question=f"{query.question}\n{words}".strip())


NO_VOICE = Voice(SoundDecoders(1), Admission(1, 0))
"""Neither hears nor speaks."""
