"""Settings of the domain_router service, from `LOREGLASS_DOMAIN_ROUTER_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, ModelSettings


class Engine(EngineName):
    """Engines that classify questions. `pocket` is accepted as the earlier name of `builtin`."""

    BUILTIN = "builtin"
    BLIP2 = "blip2"


class DomainRouterSettings(ModelSettings):
    """`head` and `read_text` are for BLIP-2; an empty `model` is the one that the head was trained on."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_DOMAIN_ROUTER_")

    port: int = 7101
    engine: Engine = Engine.BUILTIN
    head: str = Field(default="", description="the head that `loreglass train head domain-router` wrote")
    read_text: bool = Field(default=False, description="append what OCR read to the question")
