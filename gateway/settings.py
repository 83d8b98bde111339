"""Settings of the gateway, from `LOREGLASS_GATEWAY_*`."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

import httpx
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    field_validator,
    model_validator,
)
from pydantic_settings import NoDecode, SettingsConfigDict

from chassis.settings import AppSettings, ServiceToken
from gateway.planning.latencies import VlmSpeed
from gateway.planning.placement import PlacementPlan
from gateway.planning.stages import PROMPTS, USUAL_DEADLINE_MS, Stage
from gateway.state import Unverified
from gateway.thresholds import Risk


def _is_http(given: str) -> str:
    try:
        address = httpx.URL(given)
    except (httpx.InvalidURL, UnicodeError):
        address = httpx.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError("must be an http:// or https:// address")
    if address.userinfo or address.query or address.fragment:
        raise ValueError("must be an address alone: no password is sent from there, and it may be logged")
    return given


HttpAddress = Annotated[str, AfterValidator(_is_http)]
HttpAddressOrNone = Annotated[str, AfterValidator(lambda given: given and _is_http(given))]
"""Empty: there is none."""


class SessionBackend(StrEnum):
    """Where sessions live: this process's memory, or Redis for several gateways."""

    MEMORY = "memory"
    REDIS = "redis"


class Reasoning(StrEnum):
    """What answers: the reader service (earlier called pocket), or a vision-language model."""

    LITE = "lite"
    VLM = "vlm"

    @classmethod
    def _missing_(cls, value: object) -> "Reasoning | None":
        return cls.LITE if value == "pocket" else None


def _asks_a_model(given: str) -> Stage:
    if given not in PROMPTS:
        raise ValueError(f"{given} is no stage that asks a model; those are {', '.join(PROMPTS)}")
    return Stage(given)


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


class GatewaySettings(AppSettings):
    """Where the services are, and the limits of what callers may ask."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_GATEWAY_")

    port: int = 7100
    services: ServiceToken = Field(default_factory=ServiceToken, description="what the services ask for")
    default_deadline_ms: int = Field(
        default=65_000, description="hard stop of one exchange; see max_deadline_ms"
    )
    hard_stop_ms: int | None = Field(default=None, gt=0, description="more than default_deadline_ms")
    max_body_bytes: int = 32 * 2**20
    max_share_per_address: float = Field(
        default=0.5, gt=0, le=1, description="of connections and uploads; 1 where all come through a proxy"
    )
    origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="pages of other sites that may ask, by commas: https://example.org, or * for all",
    )
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="names by which a gateway without keys is reached, by commas; * for any (IPs need none)",
    )
    trust_remote_sampling: bool = Field(
        default=False, description="only where all callers may decide which traces are kept"
    )

    ocr_url: HttpAddress = "http://127.0.0.1:7107"
    cropper_url: HttpAddress = "http://127.0.0.1:7102"
    image_search_url: HttpAddress = "http://127.0.0.1:7103"
    text_search_url: HttpAddress = "http://127.0.0.1:7104"
    reranker_url: HttpAddress = "http://127.0.0.1:7105"
    domain_router_url: HttpAddress = "http://127.0.0.1:7101"
    verifier_url: HttpAddress = "http://127.0.0.1:7106"
    reader_url: HttpAddress = "http://127.0.0.1:7108"
    web_search_url: HttpAddressOrNone = Field(
        default="",
        description="a text_search with engine=web, asked where the index holds no answer; empty: none",
    )
    photo_to_domain_router: bool = Field(default=False, description="set it with engine=blip2 there")
    photo_to_reranker: bool = Field(default=False, description="set it with engine=cascade there")

    reasoning: Reasoning = Reasoning.LITE
    vlm_url: HttpAddress = Field(default="http://127.0.0.1:8000", description="an OpenAI-compatible server")
    vlm_model: str = Field(default="", description="its name there, as `GET /v1/models` lists it")
    vlm_key: SecretStr = SecretStr("")
    vlm_sequences: int = Field(default=8, ge=1, description="calls at once; not more than its --max-num-seqs")
    vlm_speed: Annotated[VlmSpeed, NoDecode] = Field(
        default=VlmSpeed(), description="JSON, as `loreglass plan` writes it"
    )
    stage_models: Annotated[_StageModels, NoDecode] = Field(
        default={},
        description="JSON: further models by name, each with its stages; vlm_model does the others",
    )
    vlm_context: int = Field(default=8_192, ge=1, description="tokens; not more than its --max-model-len")
    vlm_photo_tokens: int = Field(default=1_600, ge=0, description="of them, that a photo takes")
    vlm_evidence_chars: int = Field(default=2_000, ge=500, description="of evidence in a prompt, in all")
    vlm_passage_chars: int = Field(default=1_500, ge=100, description="of one passage in a prompt")
    vlm_history_turns: int = Field(default=4, ge=0, description="earlier turns in a prompt")
    vlm_history_chars: int = Field(default=1_600, ge=0, description="of the earlier turns, in all")

    stt_url: HttpAddressOrNone = Field(
        default="", description="what hears: a server of OpenAI's /v1/audio/transcriptions; empty: none"
    )
    stt_model: str = Field(default="", description="its name there; empty: the server's own choice")
    stt_key: SecretStr = SecretStr("")
    stt_at_once: int = Field(default=4, ge=1, description="transcriptions at once")
    tts_url: HttpAddressOrNone = Field(
        default="", description="what speaks: a server of OpenAI's /v1/audio/speech; empty: none"
    )
    tts_model: str = Field(default="", description="its name there")
    tts_key: SecretStr = SecretStr("")
    tts_voice: str = Field(default="", description="its voice; empty: callers choose, answers have `alloy`")
    tts_format: Literal["mp3", "opus", "aac", "flac", "wav"] = Field(
        default="mp3", description="of the answers that GET /speech/{id} speaks"
    )
    tts_at_once: int = Field(default=4, ge=1, description="texts that are spoken at once")
    audio_max_bytes: int = Field(default=10 * 2**20, ge=1)
    audio_max_s: float = Field(default=60.0, gt=0, description="seconds of one recording")
    audio_decoders: int = Field(default=2, ge=1, description="recordings decoded at once")
    speech_max_chars: int = Field(default=4_096, ge=1, description="of a text that is spoken")
    speech_secret: SecretStr = Field(
        default=SecretStr(""),
        description="signs the addresses of speech; empty: a random one, or one made of redis_url with it",
    )

    answer_deadline_ms: int = Field(default=USUAL_DEADLINE_MS, description="for callers that name none")
    min_deadline_ms: int = 1
    max_deadline_ms: int = 60_000
    max_question_chars: int = 2_000
    photo_max_side: int = Field(
        default=1920, ge=1, description="pixels; larger photos are scaled down. Print is read up to OCR's own"
    )
    photo_max_bytes: int = 30 * 2**20
    photo_decoders: int = Field(default=2, ge=1, description="photos decoded at once; a large one is memory")
    max_in_flight: int = Field(default=8, ge=1, description="questions worked on at once")
    max_waiting: int = Field(default=32, ge=0, description="questions that wait their turn; the next get 503")
    keys: Path | None = Field(default=None, description="callers' keys; without it everybody may ask")
    tenant_requests_per_minute: int = Field(
        default=1_200, ge=1, description="of one tenant with keys, unless their file says otherwise"
    )
    tenant_in_flight: int = Field(default=64, ge=1, description="its requests at once, at this gateway")
    tenant_sessions: int = Field(default=5_000, ge=1, description="its newest are kept")
    tenant_traces: int = Field(default=5_000, ge=1, description="its newest are kept")
    tenant_stored_bytes: int = Field(
        default=256 * 2**20, ge=1, description="of its sessions, and as much of its kept replies"
    )
    experiments: bool = Field(
        default=False, description="callers may set thresholds for their question and have it explained"
    )

    model_aliases: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="further names of the model loreglass, by commas: of apps whose model's name is fixed",
    )

    latencies: str = Field(default="pocket", description="pocket, l40s or a file: what planning starts from")
    placement: Annotated[PlacementPlan | None, NoDecode] = Field(
        default=None, description="JSON, as `loreglass plan` writes it"
    )

    sessions: SessionBackend = SessionBackend.MEMORY
    session_ttl_s: int = 1800
    session_limit: int = Field(default=1000, ge=1, description="memory backend: the oldest give way")
    session_bytes: int = Field(
        default=512 * 2**20, ge=12 * 2**20, description="memory backend: photos kept, in all"
    )
    redis_url: str = "redis://127.0.0.1:6379/0"
    gateways: int = Field(
        default=1, ge=1, description="that share Redis: while it is away each takes so small a part"
    )
    trace_limit: int = Field(default=1000, ge=0, description="finished traces kept for GET /traces/{id}")
    risk: Risk = Field(
        default=Risk.BALANCED,
        description="careful (fewer answers, fewer wrong), balanced or eager; not with a thresholds file",
    )
    thresholds: Path | None = Field(default=None, description="a calibrated file; else the packaged one")
    unverified: Unverified = Field(
        default=Unverified.REFUSE,
        description="answers that the verifier was to check and could not: refuse, or say with a caution",
    )
    router: Path | None = Field(
        default=None, description="a search router fitted on runs; else a draft's own confidence routes it"
    )

    @field_validator("model_aliases", "origins", "hosts", mode="before")
    @classmethod
    def _split_names(cls, given: object) -> object:
        names = given.split(",") if isinstance(given, str) else given
        return tuple(name.strip() for name in names if name.strip()) if isinstance(names, list) else names

    @field_validator("placement", mode="before")
    @classmethod
    def _read_placement(cls, given: object) -> object:
        return PlacementPlan.parse(given) if isinstance(given, str) else given

    @field_validator("stage_models", mode="before")
    @classmethod
    def _read_stage_models(cls, given: object) -> object:
        return TypeAdapter(_StageModels).validate_json(given) if isinstance(given, str) else given

    @field_validator("stage_models")
    @classmethod
    def _a_stage_has_one_model(cls, models: _StageModels) -> _StageModels:
        taken = Counter(stage for model in models.values() for stage in model.stages)
        for stage, times in taken.items():
            if times > 1:
                raise ValueError(f"{stage} is given to more than one model")
        return models

    @field_validator("vlm_speed", mode="before")
    @classmethod
    def _read_speed(cls, given: object) -> object:
        return TypeAdapter(VlmSpeed).validate_json(given) if isinstance(given, str) else given

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
