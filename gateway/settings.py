"""Settings of the gateway, from `LOREGLASS_GATEWAY_*`."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import httpx
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_core import from_json
from pydantic_settings import NoDecode, SettingsConfigDict

from chassis.settings import AppSettings, ServiceToken
from gateway.planning.latencies import Latencies, VlmSpeed, load_latencies
from gateway.planning.placement import PlacementPlan
from gateway.planning.stages import PROMPTS, USUAL_DEADLINE_MS, Stage
from gateway.state import Unverified
from gateway.thresholds import Risk


def _is_http(value: str) -> str:
    try:
        address = httpx.URL(value)
    except (httpx.InvalidURL, UnicodeError):
        address = httpx.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("must be an http:// or https:// address")
    if address.userinfo or address.query or address.fragment:
        raise ValueError("must be an address alone: no password is sent from there, and it may be logged")
    return value


HttpAddress = Annotated[str, AfterValidator(_is_http)]
HttpAddressOrNone = Annotated[str, AfterValidator(lambda value: value and _is_http(value))]
"""Empty: there is none."""


class SessionBackend(StrEnum):
    """The store of sessions: this process's memory, or Redis for several gateways."""

    MEMORY = "memory"
    REDIS = "redis"


class Reasoning(StrEnum):
    """The reasoner: the reader service (earlier called pocket), or a vision-language model."""

    LITE = "lite"
    VLM = "vlm"

    @classmethod
    def _missing_(cls, value: object) -> "Reasoning | None":
        return cls.LITE if value == "pocket" else None


def _asks_a_model(value: str) -> Stage:
    if value not in PROMPTS:
        raise ValueError(f"{value} is no stage that asks a model; those are {', '.join(PROMPTS)}")
    return Stage(value)


@dataclass(frozen=True, slots=True)
class StageModel:
    """A model for some stages only. `speed` None: as fast as `vlm_speed`."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    url: HttpAddress
    model: Annotated[str, Field(min_length=1)]
    stages: Annotated[tuple[Annotated[Stage, BeforeValidator(_asks_a_model)], ...], Field(min_length=1)]
    key: SecretStr = field(default_factory=lambda: SecretStr(""))
    sequences: Annotated[int, Field(ge=1)] = 8
    speed: VlmSpeed | None = None


_StageModels = dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")], StageModel]


def _service(name: str, port: int) -> Any:
    return Field(default=f"http://127.0.0.1:{port}", description=f"Address of the {name} service.")


class GatewaySettings(AppSettings):
    """The addresses of the services, and the limits of requests."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_GATEWAY_")

    port: int = Field(default=7100, description="Port to listen on.")
    services: ServiceToken = Field(default_factory=ServiceToken, description="what the services ask for")
    default_deadline_ms: int = Field(
        default=65_000, description="Hard stop of every request in milliseconds; more than `max_deadline_ms`."
    )
    hard_stop_ms: int | None = Field(
        default=None,
        gt=0,
        description="Longest time of any request, if it is more than `default_deadline_ms`.",
    )
    max_body_bytes: int = Field(
        default=32 * 2**20, description="Largest body of a request. Larger ones get 413."
    )
    max_share_per_address: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="Share of connections and uploads that one address may use. 1 behind a proxy.",
    )
    origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Sites whose pages may use the gateway, by commas: `https://example.org`. `*`: all.",
    )
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Host names of a gateway without keys, by commas. `*`: any. IP addresses always work.",
    )
    trust_remote_sampling: bool = Field(
        default=False, description="Whether the client's `traceparent` decides which traces are kept."
    )

    ocr_url: HttpAddress = _service("ocr", 7107)
    cropper_url: HttpAddress = _service("cropper", 7102)
    image_search_url: HttpAddress = _service("image search", 7103)
    text_search_url: HttpAddress = _service("text search", 7104)
    reranker_url: HttpAddress = _service("reranker", 7105)
    domain_router_url: HttpAddress = _service("domain router", 7101)
    verifier_url: HttpAddress = _service("verifier", 7106)
    reader_url: HttpAddress = _service("reader", 7108)
    web_search_url: HttpAddressOrNone = Field(
        default="",
        description="A text search service with `engine=web`, if the index has no answer. Empty: none.",
    )
    photo_to_domain_router: bool = Field(
        default=False, description="Send the photo to the domain router. Only for its engine `blip2`."
    )
    photo_to_reranker: bool = Field(
        default=False, description="Send the photo to the reranker even if its `/info` does not ask for it."
    )

    reasoning: Reasoning = Field(
        default=Reasoning.LITE,
        description="`lite`: the reader service answers. `vlm`: a language model answers.",
    )
    vlm_url: HttpAddress = Field(
        default="http://127.0.0.1:8000", description="Address of the model server, with OpenAI's API."
    )
    vlm_model: str = Field(default="", description="The model's name there, as `GET /v1/models` lists it.")
    vlm_key: SecretStr = Field(default=SecretStr(""), description="The model server's API key.")
    vlm_sequences: int = Field(
        default=8, ge=1, description="Calls of the model at once. Not more than vLLM's `--max-num-seqs`."
    )
    vlm_speed: Annotated[VlmSpeed, NoDecode] = Field(
        default=VlmSpeed(), description="Expected speed of the model as JSON; `loreglass plan` writes it."
    )
    stage_models: Annotated[_StageModels, NoDecode] = Field(
        default={}, description="Further models as JSON: name to address, model and stages."
    )
    vlm_context: int = Field(
        default=8_192,
        ge=1,
        description="The model's context in tokens. Not more than vLLM's `--max-model-len`.",
    )
    vlm_photo_tokens: int = Field(
        default=1_600, ge=0, description="Tokens of the context that a photo takes."
    )
    vlm_evidence_chars: int = Field(
        default=2_000, ge=500, description="Characters of evidence in a prompt, in all."
    )

    stt_url: HttpAddressOrNone = Field(
        default="",
        description="Address of a speech-to-text server (`/v1/audio/transcriptions`). Empty: none.",
    )
    stt_model: str = Field(default="", description="Its model. Empty: the server's default.")
    stt_key: SecretStr = Field(default=SecretStr(""), description="Its API key.")
    stt_at_once: int = Field(default=4, ge=1, description="Transcriptions at once.")
    tts_url: HttpAddressOrNone = Field(
        default="", description="Address of a text-to-speech server (`/v1/audio/speech`). Empty: none."
    )
    tts_model: str = Field(default="", description="Its model.")
    tts_key: SecretStr = Field(default=SecretStr(""), description="Its API key.")
    tts_voice: str = Field(
        default="", description="Its voice. Empty: the client chooses, and answers use `alloy`."
    )
    tts_format: Literal["mp3", "opus", "aac", "flac", "wav"] = Field(
        default="mp3",
        description="Sound format of `GET /speech/{id}`: `mp3`, `opus`, `aac`, `flac` or `wav`.",
    )
    tts_at_once: int = Field(default=4, ge=1, description="Texts spoken at once.")
    audio_max_s: float = Field(default=60.0, gt=0, description="Longest recording in seconds.")
    audio_decoders: int = Field(default=2, ge=1, description="Recordings decoded at once.")
    speech_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Signs the addresses of spoken answers. Empty: random, shared by gateways in Redis.",
    )

    answer_deadline_ms: int = Field(
        default=USUAL_DEADLINE_MS, description="Deadline of a question that names none, in milliseconds."
    )
    max_deadline_ms: int = Field(default=60_000, description="Largest `deadline_ms` of a request.")
    max_question_chars: int = Field(default=2_000, description="Longest question in characters.")
    photo_max_side: int = Field(
        default=1920, ge=1, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )
    photo_decoders: int = Field(default=2, ge=1, description="Photos decoded at once. Each may take 896 MiB.")
    max_in_flight: int = Field(default=8, ge=1, description="Questions in progress at once.")
    max_waiting: int = Field(default=32, ge=0, description="Questions that wait. Further ones get 503.")
    keys: Path | None = Field(
        default=None, description="File with the clients' keys. Without it, everyone may ask."
    )
    local_without_key: bool = Field(
        default=False, description="Let programs of this machine ask without a key (`serve --lan`)."
    )
    tenant_requests_per_minute: int = Field(
        default=1_200,
        ge=1,
        description="Requests of a tenant a minute, unless the keys file sets another number.",
    )
    tenant_upload_share: float = Field(
        default=0.5, gt=0, le=1, description="Share of `max_upload_bytes` that a tenant with keys may use."
    )
    tenant_in_flight: int = Field(
        default=64, ge=1, description="Requests of a tenant at once, at this gateway."
    )
    tenant_sessions: int = Field(
        default=5_000, ge=1, description="Sessions of a tenant; the oldest are dropped."
    )
    tenant_traces: int = Field(default=5_000, ge=1, description="Traces of a tenant; the oldest are dropped.")
    tenant_stored_bytes: int = Field(
        default=256 * 2**20,
        ge=1,
        description="Bytes of a tenant's sessions, as many of its stored replies, and of its memories.",
    )
    experiments: bool = Field(
        default=False, description="Whether a request may set thresholds and ask for an explanation."
    )

    model_aliases: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Further names of the model `loreglass`, by commas, for apps with a fixed name.",
    )

    latencies: str = Field(
        default="lite", description="Expected latencies to start from: `lite`, `l40s` or a file."
    )
    placement: Annotated[PlacementPlan | None, NoDecode] = Field(
        default=None, description="Placement of the models as JSON; `loreglass plan` writes it."
    )

    sessions: SessionBackend = Field(
        default=SessionBackend.MEMORY,
        description="Where sessions are stored: `memory`, or `redis` for several gateways.",
    )
    session_ttl_s: int = Field(
        default=1800, ge=1, description="Lifetime of a session that is not used, in seconds."
    )
    session_limit: int = Field(default=1000, ge=1, description="Sessions in memory; the oldest are dropped.")
    session_bytes: int = Field(
        default=512 * 2**20, ge=12 * 2**20, description="Bytes of photos in memory, in all sessions."
    )
    memory_key: SecretStr = Field(
        default=SecretStr(""),
        description="Switches the memory of what was seen on, and encrypts it: 32 bytes in base64.",
    )
    memory_key_file: Path | None = Field(default=None, description="A file that holds the key instead.")
    memory_days: int = Field(
        default=30, ge=1, le=366, description="How long a thing that was seen is remembered, in days."
    )
    redis_url: str = Field(default="redis://127.0.0.1:6379/0", description="Address of Redis.")
    gateways: int = Field(
        default=1,
        ge=1,
        description="Gateways that share Redis. While it is away, each takes its share of a quota.",
    )
    trace_limit: int = Field(
        default=1000, ge=0, description="Finished traces that `GET /traces/{id}` can return."
    )
    risk: Risk = Field(
        default=Risk.BALANCED,
        description="`careful` (fewer answers, fewer errors), `balanced` or `eager`. Not together with "
        "`thresholds`.",
    )
    thresholds: Path | None = Field(
        default=None, description="A calibrated file of thresholds. Without it, `risk` chooses."
    )
    unverified: Unverified = Field(
        default=Unverified.REFUSE,
        description="An answer that could not be checked: `refuse` it, or `say` it with a warning.",
    )
    router: Path | None = Field(
        default=None, description="A trained search router. Without it, the draft's own confidence decides."
    )

    @field_validator("model_aliases", "origins", "hosts", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        names = value.split(",") if isinstance(value, str) else value
        return tuple(name.strip() for name in names if name.strip()) if isinstance(names, list) else names

    @field_validator("placement", mode="before")
    @classmethod
    def _read_placement(cls, value: object) -> object:
        return PlacementPlan.parse(value) if isinstance(value, str) else value

    @field_validator("stage_models", "vlm_speed", mode="before")
    @classmethod
    def _read_json(cls, value: object) -> object:
        return from_json(value) if isinstance(value, str) else value

    @field_validator("stage_models")
    @classmethod
    def _a_stage_has_one_model(cls, models: _StageModels) -> _StageModels:
        taken = Counter(stage for model in models.values() for stage in model.stages)
        for stage, times in taken.items():
            if times > 1:
                raise ValueError(f"{stage} is given to more than one model")
        return models

    @model_validator(mode="after")
    def _one_source_of_thresholds(self) -> Self:
        if self.thresholds is not None and "risk" in self.model_fields_set:
            raise ValueError("set risk or thresholds, not both: a thresholds file replaces the named risks")
        return self

    @model_validator(mode="after")
    def _a_model_needs_a_name(self) -> Self:
        if self.reasoning is Reasoning.VLM and not self.vlm_model:
            raise ValueError("reasoning=vlm needs vlm_model, a name that GET /v1/models of vlm_url lists")
        return self

    def read_latencies(self) -> Latencies:
        """Return the latencies that planning starts from. Raises `WrongSettings`."""
        if self.reasoning is not Reasoning.VLM:
            return load_latencies(self.latencies)
        others = self.stage_models.values()
        speeds = {stage: model.speed or self.vlm_speed for model in others for stage in model.stages}
        return load_latencies(self.latencies, self.vlm_speed, speeds)
