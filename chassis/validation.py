"""What pydantic refused, in words for whoever wrote it."""

from pydantic import ValidationError


def first_fault(error: ValidationError) -> str:
    """The first entry that is wrong, and why: "image.base64: Field required". Quotes nothing of the input."""
    first = error.errors(include_url=False, include_input=False)[0]
    entry = ".".join(str(part) for part in first["loc"])[:80]
    what = first["msg"].removeprefix("Value error, ")
    return f"{entry}: {what}" if entry else what
