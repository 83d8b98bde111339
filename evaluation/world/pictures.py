"""Makes and saves every picture of a world, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import cv2
from rich.progress import Progress

from evaluation.world.model import World
from evaluation.world.photography.exif import save_jpeg
from evaluation.world.photography.shoot import catalogue_picture, take
from evaluation.world.questions.session import Session
from evaluation.world.rendering import design
from evaluation.world.writing import catalogue_path


def write_pictures(folder: Path, world: World, sessions: Iterable[Session], *, quiet: bool = False) -> None:
    """Draws each thing once, then saves its catalogue picture and all photos of it."""
    # One thread: the same arithmetic order on every machine, and other work keeps its cores.
    cv2.setNumThreads(1)
    shots: dict[str, list[Session]] = {}
    for session in sessions:
        shots.setdefault(session.shot.subject, []).append(session)
    things = [thing for thing in world if thing.catalogued or thing.key in shots]
    total = sum(thing.catalogued for thing in things) + sum(map(len, shots.values()))
    for name in ("catalogue", "photos"):
        (folder / name).mkdir(exist_ok=True)
    plan = world.plan
    with Progress(disable=quiet) as bar:
        task = bar.add_task("drawing pictures", total=total)
        for thing in things:
            face = design(plan, thing)
            if thing.catalogued:
                picture = catalogue_picture(plan, thing.key, face)
                path = folder / catalogue_path(thing)
                save_jpeg(path, picture, plan.stream("file", path.name))
                bar.advance(task)
            for session in shots.get(thing.key, ()):
                shot = session.shot
                photo = take(plan, shot, thing.kind, face)
                save_jpeg(
                    folder / shot.name, photo, plan.stream("file", shot.name),
                    orientation=shot.orientation, gps=shot.gps,
                )  # fmt: skip
                bar.advance(task)
