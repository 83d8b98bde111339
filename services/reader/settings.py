"""Settings of the reader, from `LOREGLASS_READER_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, ModelSettings


class Engine(EngineName):
    """Engines that read passages."""

    BUILTIN = "builtin"
    EXTRACTIVE = "extractive"


class ReaderSettings(ModelSettings):
    """The extractive engine's model, and how its margin becomes a probability."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_READER_")

    port: int = Field(default=7108, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BUILTIN, description="`extractive` is for a GPU.")

    model: str = Field(
        default="", description="A folder or Hugging Face id. Empty: `deepset/minilm-uncased-squad2`."
    )
    temperature: float = Field(default=2.0, gt=0, description='Divides the margin over "no answer".')
