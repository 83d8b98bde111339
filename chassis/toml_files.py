"""Files of settings in TOML: read, checked, and refused in one sentence that an operator can act on."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from chassis.startup import WrongSettings
from chassis.validation import first_fault

T = TypeVar("T")
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A number from 0."""
Count = Annotated[int, Field(strict=True, ge=0)]
"""A whole number from 0."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
"""A number in 0..1."""
Switch = Annotated[bool, Field(strict=True)]


def read_toml(path: Path, name: str) -> dict[str, Any]:
    """Return the file's content. `name`: for messages. Raises `WrongSettings`, which quotes no content."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise WrongSettings(f"{name} cannot be read.") from error
    except ValueError:  # not TOML, or not UTF-8; the parser's words may quote the file
        raise WrongSettings(f"{name} is not TOML.") from None


def checked(kind: type[T], content: object, name: str) -> T:
    """The content as a value of `kind`. Raises `WrongSettings`: the first entry that is wrong, unquoted."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        raise WrongSettings(f"{name} cannot be used: {first_fault(error)}.") from None
