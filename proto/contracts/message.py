"""The two base classes of everything that crosses the wire."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """A reply: frozen; unknown fields are ignored so that an older reader survives a newer writer."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Request(BaseModel):
    """A request: frozen; unknown fields are refused so that a misspelt option is not silently lost."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
