"""Settings that every app has. Built once at the edge; nothing else reads the environment."""

from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.accelerator import Placement
from chassis.http.access import Access
from chassis.http.connections import ConnectionLimits
from chassis.http.remote import RemoteServer
from chassis.models.batching import BatchLimits
from chassis.models.workers import PoolSize
from chassis.startup import WrongSettings

BUILTIN = "builtin"
_IN_CALLERS_THREAD = (BUILTIN, "bm25")
"""Engines that compute in the thread of their caller."""


class EngineName(StrEnum):
    """Engines of a service. The first was called "pocket" before."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return next(iter(cls)) if value == "pocket" else None


DRAIN_S = 3
_SHORTEST_TOKEN = 16
_OTLP_PROTOCOL = "http/protobuf"


class AppSettings(BaseSettings):
    """An app's address and limits. Subclasses set `env_prefix`."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=0, ge=0, le=65535, description="Port to listen on. 0 picks a free one.")
    default_deadline_ms: int = Field(
        default=30_000, gt=0, description="Deadline of a request that names none, in milliseconds."
    )
    hard_stop_ms: int | None = Field(
        default=600_000,
        gt=0,
        description="Longest time of any request in milliseconds. Never less than `default_deadline_ms`.",
    )
    max_body_bytes: int = Field(
        default=64 * 2**20, gt=0, description="Largest body of a request. Larger ones get 413."
    )
    max_upload_bytes: int = Field(
        default=256 * 2**20,
        gt=0,
        description="Bytes of all bodies in memory at one time. Further ones get 503.",
    )
    max_header_bytes: int = Field(
        default=32 * 2**10,
        ge=2**10,
        description="Largest request line and headers. Larger ones get 431 or 414.",
    )
    max_connections: int = Field(
        default=0,
        ge=0,
        description="Open connections. 0: three quarters of the file descriptors, at most 4,096.",
    )
    max_share_per_address: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Share of connections and uploads that one address may use. 1 behind a proxy.",
    )
    header_timeout_s: float = Field(
        default=10.0,
        gt=0,
        description="Longest time for a request's headers, in seconds. Slower ones get 408.",
    )
    min_body_rate: int = Field(
        default=1_000,
        ge=0,
        description="Slowest upload in bytes a second, over ten seconds. Slower ones get 408; 0: no limit.",
    )
    drain_s: int = Field(
        default=DRAIN_S, ge=0, description="Time to finish requests at shutdown, in seconds."
    )
    trust_remote_sampling: bool = Field(
        default=True, description="Whether the client's `traceparent` decides which traces are kept."
    )
    log_level: str = Field(
        default="info",
        pattern="(?i)^(debug|info|warning|error|critical)$",
        description="`debug`, `info`, `warning`, `error` or `critical`.",
    )

    @property
    def longest_exchange_ms(self) -> int:
        """The longest time of any exchange."""
        return max(self.hard_stop_ms or 0, self.default_deadline_ms)

    @property
    def connection_limits(self) -> ConnectionLimits:
        """The limits of connections and of what one may send."""
        return ConnectionLimits(
            connections=self.max_connections,
            share_per_address=self.max_share_per_address,
            header_bytes=self.max_header_bytes,
            header_s=self.header_timeout_s,
            body_rate=self.min_body_rate,
        )


class ServiceToken(BaseSettings):
    """The token that services ask their readers for, from `LOREGLASS_SERVICE_TOKEN` or a file."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_prefix="LOREGLASS_SERVICE_", env_ignore_empty=True
    )

    token: SecretStr = Field(
        default=SecretStr(""), description="Token for routes that read. At least 16 printable characters."
    )
    token_file: Path | None = Field(default=None, description="A file that holds the token instead.")

    def read_token(self) -> str:
        """Empty where none is set. Raises `WrongSettings`."""
        return read_secret("LOREGLASS_SERVICE_TOKEN", self.token, self.token_file)


class WriteToken(BaseSettings):
    """The token that services ask those for who write, from `LOREGLASS_SERVICE_WRITE_TOKEN` or a file."""

    model_config = ServiceToken.model_config

    write_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token for all routes, also those that write. Another one than the read token.",
    )
    write_token_file: Path | None = Field(default=None, description="A file that holds the token instead.")

    def write_secret(self) -> str:
        """Empty where none is set. Raises `WrongSettings`."""
        return read_secret("LOREGLASS_SERVICE_WRITE_TOKEN", self.write_token, self.write_token_file)


class ServiceAccess(ServiceToken, WriteToken):
    """Access to a service: both tokens, and its further host names."""

    allowed_hosts: str = Field(
        default="", description="Further host names of the service, separated by commas. `*`: any."
    )

    def open(self) -> Access:
        """Raises `WrongSettings` where a token cannot be read, is too short, or reads and writes alike."""
        read, write = self.read_token(), self.write_secret()
        if read and read == write:
            raise WrongSettings("LOREGLASS_SERVICE_WRITE_TOKEN: another one than LOREGLASS_SERVICE_TOKEN.")
        if read and not write:
            raise WrongSettings("LOREGLASS_SERVICE_WRITE_TOKEN: needed beside LOREGLASS_SERVICE_TOKEN.")
        hosts = frozenset(name.strip().lower() for name in self.allowed_hosts.split(",") if name.strip())
        return Access(read, write, hosts)


def read_secret(name: str, value: SecretStr, file: Path | None) -> str:
    """Return a secret of a setting or a file; empty where none is set. Raises `WrongSettings`."""
    text = value.get_secret_value()
    if file is not None:
        try:
            text = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise WrongSettings(f"{name}_FILE: it cannot be read.") from error
        if not text:
            raise WrongSettings(f"{name}_FILE: it is empty.")
    if text and (len(text) < _SHORTEST_TOKEN or not text.isascii() or not text.isprintable() or " " in text):
        raise WrongSettings(f"{name}: at least {_SHORTEST_TOKEN} printable characters.")
    return text


class ServiceSettings(AppSettings):
    """Settings of a model service: how many calls run at once and how many may wait."""

    engine: str = Field(default=BUILTIN, description="Which engine computes; see the service's README.")
    workers: int = Field(default=1, ge=1, description="Calls that run at once.")
    queue: int = Field(default=32, ge=0, description="Calls that wait. Further ones get 503.")
    access: ServiceAccess = Field(default_factory=ServiceAccess)

    @property
    def pool_size(self) -> PoolSize:
        """The numbers of calls that run at once and that may wait."""
        return PoolSize(self.workers, self.queue)


class ModelSettings(ServiceSettings):
    """Settings of a service whose engine may be a neural model."""

    workers: int = Field(default=1, ge=1, description="Calls that run at once in the `builtin` engine.")
    callers: int = Field(default=32, ge=1, description="Calls that wait for a batch, in any other engine.")
    model: str = Field(
        default="", description="A local folder or a Hugging Face id. Empty: the engine's default."
    )
    device: str = Field(
        default="auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="`auto`, `cpu`, `cuda` or `cuda:N`."
    )
    dtype: str = Field(
        default="auto",
        pattern="^(auto|float32|bfloat16|float16)$",
        description="`auto`, `float32`, `bfloat16` or `float16`.",
    )
    memory_share: float = Field(
        default=1.0, gt=0, le=1, description="Share of the card's memory that this service may use."
    )
    max_batch: int = Field(default=16, ge=1, description="Items in one forward pass.")
    batch_wait_ms: float = Field(
        default=3.0, ge=0, description="How long a batch waits for more items, in milliseconds."
    )

    @property
    def pool_size(self) -> PoolSize:
        """Callers of a model mostly wait for its batches; those of an engine of our own compute."""
        return PoolSize(self.workers if self.engine in _IN_CALLERS_THREAD else self.callers, self.queue)

    @property
    def placement(self) -> Placement:
        """The model's device, number type and share of memory."""
        return Placement(self.device, self.dtype, self.memory_share)

    @property
    def batch_limits(self) -> BatchLimits:
        """The limits of batches."""
        return BatchLimits(self.max_batch, self.batch_wait_ms)


class RemoteModelSettings(ModelSettings):
    """Settings of a service whose model may also be on a ready-made server."""

    remote_url: str = Field(
        default="", pattern="^(https?://.+)?$", description="`engine=remote`: the server's address."
    )
    remote_model: str = Field(default="", description="`engine=remote`: the model's name there.")
    remote_key: SecretStr = Field(default=SecretStr(""), description="`engine=remote`: the server's API key.")

    def open_remote(self, name: str) -> RemoteServer:
        """A client of the ready-made server. Raises `WrongSettings` when no address is set."""
        if not self.remote_url:
            raise WrongSettings(f"{name}: engine=remote needs remote_url.")
        return RemoteServer(self.remote_url, self.remote_key.get_secret_value(), self.remote_model, name)


class TelemetrySettings(BaseSettings):
    """The usual variables of OpenTelemetry for exporting spans. The SDK reads the others itself."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_prefix="OTEL_", env_ignore_empty=True)

    sdk_disabled: str = ""
    traces_exporter: str = ""
    exporter_otlp_endpoint: str = ""
    exporter_otlp_traces_endpoint: str = ""
    exporter_otlp_protocol: str = _OTLP_PROTOCOL
    exporter_otlp_traces_protocol: str = ""

    @property
    def exporters(self) -> tuple[str, ...]:
        """The exporters that are on: `otlp`, `console`. Raises `WrongSettings` for another one."""
        if self.sdk_disabled.strip().lower() == "true":
            return ()
        endpoint = self.exporter_otlp_traces_endpoint or self.exporter_otlp_endpoint
        text = self.traces_exporter or ("otlp" if endpoint else "none")
        names = {name.strip().lower() for name in text.split(",")} - {"none", ""}
        if names - {"otlp", "console"}:
            raise WrongSettings("OTEL_TRACES_EXPORTER: otlp, console or none.")
        if "otlp" in names and (self.exporter_otlp_traces_protocol or self.exporter_otlp_protocol) != (
            _OTLP_PROTOCOL
        ):
            raise WrongSettings(f"OTEL_EXPORTER_OTLP_PROTOCOL: only {_OTLP_PROTOCOL} is spoken.")
        return tuple(sorted(names))
