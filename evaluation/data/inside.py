"""Files that a dataset names: inside its own folder, or not at all."""

from pathlib import Path

from chassis.images import ImageLimits
from chassis.picture_cache import NotAPicture, picture_suffix
from evaluation.data.checks import BadRow


def photo_inside(folder: Path, name: str) -> Path:
    """The photo that a row names, relative to `folder`; also no link leads out. Raises `BadRow`."""
    try:
        path = folder / name
        real = path.resolve()
        if not real.is_relative_to(folder.resolve()):
            raise BadRow("malformed_row", "The photo's path leads out of the folder.")
        if not real.is_file():
            raise BadRow("missing_image", f"There is no photo {name[:100]!r}.")
        if real.stat().st_size > ImageLimits().max_bytes:
            raise BadRow(
                "unreadable_image", f"The image is larger than {ImageLimits().max_bytes // 2**20} MiB."
            )
        picture_suffix(real.read_bytes())
    except NotAPicture as reason:
        raise BadRow("unreadable_image", str(reason)) from reason
    except (OSError, ValueError, RuntimeError) as error:
        raise BadRow("missing_image", "The photo's path cannot be opened.") from error
    return path
