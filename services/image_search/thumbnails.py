"""Small pictures of what is indexed, for its operator: features are nothing to look at."""

from pathlib import Path

from PIL import Image

from chassis.files import replace_bytes
from chassis.images import encode_picture
from chassis.rgb import RGB

SIDE = 192
"""Of the longer side, pixels: some six kilobytes a picture."""
_QUALITY = 75


class Thumbnails:
    """JPEG files named by the ids of points. Ids are made from content, so one that is there is right."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "thumbnails"

    def keep(self, point_id: str, photo: RGB) -> None:
        """Write the picture of a point, whose id is a UUID in canonical form. Blocking; raises `OSError`."""
        path = self._path(point_id)
        if path.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(photo)
        picture.thumbnail((SIDE, SIDE))
        replace_bytes(path, encode_picture(picture, _QUALITY))

    def read(self, point_id: str) -> bytes | None:
        """A point's picture as JPEG; None where none was kept. Blocking."""
        try:
            return self._path(point_id).read_bytes()
        except FileNotFoundError:
            return None

    def _path(self, point_id: str) -> Path:
        return self._folder / f"{point_id}.jpg"
