"""Settings of the verifier service, from `LOREGLASS_VERIFIER_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, ServiceSettings


class Engine(EngineName):
    """Engines that verify answers."""

    BUILTIN = "builtin"
    WHITE_BOX = "white_box"


class VerifierSettings(ServiceSettings):
    """`supported_from`: the probability from which a reply says `supported`."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_VERIFIER_")

    port: int = Field(default=7106, description="Port to listen on.")
    engine: Engine = Field(
        default=Engine.BUILTIN,
        description="`white_box` goes by the token probabilities and the judge of the model alone.",
    )
    supported_from: float = Field(
        default=0.5, ge=0.0, le=1.0, description="Least probability of `supported`."
    )
