"""Finds which of our prompts a chat request contains."""

from functools import cache
from importlib.resources import files

from gateway.llm.prompt import prompt_text, short_name


def prompt_name(text: str) -> str:
    """Return the name of the last of our prompts that begins in `text`; "" if there is none."""
    places = {name: text.rfind(line) for line, name in _first_lines().items() if line in text}
    return max(places, key=lambda name: places[name], default="")


@cache
def _first_lines() -> dict[str, str]:
    """Return the name of each prompt by its first line, of those that have a text and no slot in it."""
    ours = [path.name.removesuffix(".toml") for path in (files("gateway.llm") / "prompts").iterdir()]
    pipelines = [each for each in files("gateway.pipelines").iterdir() if (each / "prompts").is_dir()]
    ours += [
        f"{pipeline.name}/{path.name.removesuffix('.toml')}"
        for pipeline in pipelines
        for path in (pipeline / "prompts").iterdir()
        if path.name.endswith(".toml")
    ]
    lines: dict[str, str] = {}
    for name in ours:
        if not name.startswith(("__", "system", "question")):
            line = prompt_text(name).text.partition("\n")[0].partition("<<")[0]
            lines |= {line: short_name(name)} if line else {}
    return lines
