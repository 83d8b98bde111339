"""Settings of the domain_router service, from `LOREGLASS_DOMAIN_ROUTER_*`."""

from pydantic_settings import SettingsConfigDict

from chassis.settings import ServiceSettings


class DomainRouterSettings(ServiceSettings):
    """Nothing beyond what every service has."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_DOMAIN_ROUTER_")

    port: int = 7101
