"""Answers read off the photo."""

from gateway.reasoning.extractive.lookup import Finding
from gateway.reasoning.extractive.question import Analysis
from gateway.state import Ask, PhotoText


def answer_from_photo(ask: Ask, analysis: Analysis, photo_text: PhotoText) -> Finding | None:
    """The answer if the photo's text alone gives it."""
    return None
