"""Image embeddings from a ready-made server: Infinity or vLLM.

There is no standard for images, so each shape is spelt here. Photos travel as `data:` URIs only; the server
is given squares that we cut, since not every model looks at a photo's ends, or at its centre alone.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from enum import StrEnum
from typing import Any

from chassis.http.remote import RemoteServer
from chassis.models.remote_reply import in_index_order, unit_vector
from chassis.models.remote_request import content_part, data_uri
from chassis.pixels import drawn_pattern, encode_jpeg
from chassis.rgb import RGB
from services.image_search.engine import Floats
from services.image_search.engines.views import square_views

AT_ONCE = 8
"""Requests of one call that are under way together."""
_MAX_SIDE = 768
"""Pixels of a square that is sent."""

Body = dict[str, Any]


class RemoteShape(StrEnum):
    """What the server speaks."""

    INFINITY = "infinity"
    VLLM = "vllm"


_PATHS = {RemoteShape.INFINITY: "/embeddings", RemoteShape.VLLM: "/v1/embeddings"}


class RemoteImageEncoder:
    """`ImageEncoder` on a server. The vectors' size is learnt from its first reply and holds from then on."""

    def __init__(self, server: RemoteServer, shape: RemoteShape, per_request: int = 16) -> None:
        """`per_request`: squares or texts in one request; vLLM takes one square."""
        self._server = server
        self._shape = shape
        self._per_request = per_request
        self._size: int | None = None
        self.name = server.model or "remote"

    @property
    def size(self) -> int:
        """Learnt by encoding a drawn pattern, unless the server has answered before."""
        return self._size or len(self.forward([drawn_pattern()])[0])

    def views(self, photo: RGB) -> list[RGB]:
        """Squares of the photo, the centre first."""
        return square_views(photo, _MAX_SIDE)

    def forward(self, views: Sequence[RGB]) -> list[Floats]:
        """One unit vector a view. Raises what `RemoteServer` raises, also for vectors of no use."""
        jpegs = [encode_jpeg(view) for view in views]
        if self._shape is RemoteShape.VLLM:
            chats = [{"role": "user", "content": [content_part(jpeg)]} for jpeg in jpegs]
            return self._send([({"messages": [chat]}, 1) for chat in chats])
        parts = self._parts([data_uri(jpeg) for jpeg in jpegs])
        return self._send([({"input": part, "modality": "image"}, len(part)) for part in parts])

    def forward_texts(self, texts: Sequence[str]) -> list[Floats]:
        """One unit vector a text, in the photos' space where the model has one for both. Raises as above."""
        # Without -1, which stands for the model's own length, vLLM refuses a longer text.
        more: Body = (
            {"modality": "text"} if self._shape is RemoteShape.INFINITY else {"truncate_prompt_tokens": -1}
        )
        return self._send([({"input": part, **more}, len(part)) for part in self._parts(texts)])

    def _parts(self, inputs: Sequence[str]) -> list[list[str]]:
        step = self._per_request
        return [list(inputs[start : start + step]) for start in range(0, len(inputs), step)]

    def _send(self, requests: Sequence[tuple[Body, int]]) -> list[Floats]:
        """Return the vectors for requests of so many inputs each."""
        if len(requests) == 1:
            return self._embed(*requests[0])
        with ThreadPoolExecutor(min(len(requests), AT_ONCE), "remote-images") as threads:
            # Each copy of the context brings the caller's deadline into the thread.
            replies = [
                threads.submit(copy_context().run, self._embed, body, count) for body, count in requests
            ]
            return [vector for reply in replies for vector in reply.result()]

    def _embed(self, body: Body, count: int) -> list[Floats]:
        reply = self._server.post(_PATHS[self._shape], body)
        try:
            vectors = [unit_vector(entry["embedding"]) for entry in in_index_order(reply["data"], count)]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._server.broken_reply() from error
        sizes = {len(vector) for vector in vectors} | ({self._size} if self._size else set())
        if len(sizes) != 1:
            raise self._server.broken_reply()
        self._size = sizes.pop()
        return vectors
