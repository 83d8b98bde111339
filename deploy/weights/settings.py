"""What fetching weights reads from the environment."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from deploy.weights.catalogue import FOLDER


class WeightsSettings(BaseSettings):
    """`LOREGLASS_WEIGHTS_*`: where to put them, a server of speech that is to have its own, commits to take.

    `voice`: a preset of `services.speech`; empty: none.
    `revisions`: JSON of repository to branch, tag or commit, as `revisions.json` beside the weights has it;
    the newest of `main` for those not named.
    """

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_WEIGHTS_", frozen=True, extra="ignore")

    dir: Path = Path(FOLDER)
    voice: str = ""
    revisions: dict[str, str] = Field(default_factory=dict)


class HubSettings(BaseSettings):
    """`HF_TOKEN` or, better, a file with it: `HF_TOKEN_FILE`, a container's secret unless set."""

    model_config = SettingsConfigDict(env_prefix="HF_", frozen=True, extra="ignore")

    token: SecretStr = SecretStr("")
    token_file: Path = Path("/run/secrets/hf_token")

    def read_token(self) -> str:
        """The token, or nothing. Raises `OSError` when there is a file that cannot be read."""
        if self.token_file.exists():
            return self.token_file.read_text().strip()
        return self.token.get_secret_value().strip()
