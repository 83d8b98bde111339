"""Settings of the domain_router service, from `LOREGLASS_DOMAIN_ROUTER_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, ModelSettings


class Engine(EngineName):
    """Engines that classify questions."""

    BUILTIN = "builtin"
    BLIP2 = "blip2"


class DomainRouterSettings(ModelSettings):
    """`head` is for BLIP-2; an empty `model` is the one that the head was trained on."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_DOMAIN_ROUTER_")

    port: int = Field(default=7101, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BUILTIN, description="`blip2` is for a GPU.")
    head: str = Field(
        default="", description="`blip2`: the head that `loreglass train head domain-router` wrote."
    )
