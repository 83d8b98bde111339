"""Settings of the command, from the environment."""

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.vlm.presets import SERVED


class ServeSettings(BaseSettings):
    """`LOREGLASS_VLM_*`, as `loreglass plan` writes them: a preset, and the sizes that were chosen for it.

    Without a preset the sizes hold for whichever is served. The command line wins.
    """

    model_config = SettingsConfigDict(
        env_prefix="LOREGLASS_VLM_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    preset: str = Field(default="", description="Name of the preset.")
    memory_share: float | None = Field(default=None, gt=0, le=1, description="Share of the card's memory.")
    max_model_len: int | None = Field(default=None, ge=1, description="Context in tokens.")
    max_num_seqs: int | None = Field(default=None, ge=1, description="Sequences at once.")
    gpu: int | None = Field(default=None, ge=0, description="The only card that vLLM sees.")

    @field_validator("preset")
    @classmethod
    def _require_known(cls, name: str) -> str:
        if name and name not in SERVED:
            raise ValueError(f"there is no such preset; there are {', '.join(SERVED)}")
        return name

    def sized_for(self, preset: str) -> "ServeSettings":
        """These, or none of the sizes when they were chosen for another preset; the card is the same."""
        return self if self.preset in ("", preset) else ServeSettings.model_construct(gpu=self.gpu)


def serve_settings() -> ServeSettings:
    """From the environment. Raises `ValueError` with one sentence."""
    try:
        return ServeSettings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "_".join(map(str, first["loc"])).upper()
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"LOREGLASS_VLM_{name}: {message}.") from error
