"""Settings of the domain_router service, from `LOREGLASS_DOMAIN_ROUTER_*`."""

from enum import StrEnum

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import POCKET, ModelSettings


class Engine(StrEnum):
    """Engines that classify questions. `pocket` is accepted as the earlier name of `builtin`."""

    BUILTIN = "builtin"
    BLIP2 = "blip2"

    @classmethod
    def _missing_(cls, value: object) -> "Engine | None":
        return cls.BUILTIN if value == POCKET else None


class DomainRouterSettings(ModelSettings):
    """`head` and `read_text` are for BLIP-2; an empty `model` is the one that the head was trained on."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_DOMAIN_ROUTER_")

    port: int = 7101
    engine: Engine = Engine.BUILTIN
    head: str = Field(default="", description="the head that `loreglass train head domain-router` wrote")
    read_text: bool = Field(default=False, description="append what OCR read to the question")
