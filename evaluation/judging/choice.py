"""Who may judge, as a command names it."""

from enum import StrEnum


class Choice(StrEnum):
    """A kind of judge."""

    RULES = "rules"
    MODEL = "model"
    HUMAN = "human"
