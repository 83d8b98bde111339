"""Errors that keep an app from starting. Runs in a bare environment."""


class CannotStart(RuntimeError):
    """The text says in one sentence which app or part cannot be had, and why."""


class WrongSettings(CannotStart, ValueError):
    """A setting has a value that cannot be, or one that is needed is not set."""


class NoDevice(CannotStart):
    """The device that the settings name is not here."""


class WrongWeights(CannotStart):
    """The folder or hub id does not hold the model that this service needs; the text says what is wrong."""


def sentence_of(error: BaseException) -> str:
    """Return the error as one line for an operator, without a full stop at its end."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the package {error.name} is not installed"
    text = str(getattr(error, "detail", "")) or str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")
