"""Image embeddings from a ready-made server: Infinity, vLLM, or one that speaks Cohere's shape.

There is no standard for images, so each shape is spelt here. Photos travel as `data:` URIs only; the server
is given squares that we cut, since not every model looks at a photo's ends, or at its centre alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chassis.http.remote import RemoteServer, data_uri, in_index_order, unit_vector
from chassis.models.cancellation import work_in_threads
from chassis.pixels import encode_jpeg
from chassis.rgb import RGB, probe_picture
from services.image_search.engine import Floats
from services.image_search.engines.views import square_views

AT_ONCE = 8
"""Requests of one call that are under way together."""
_MAX_SIDE = 768
"""Pixels of a square that is sent."""


class RemoteShape(StrEnum):
    """The server's API."""

    INFINITY = "infinity"
    VLLM = "vllm"
    COHERE = "cohere"


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """`per_request`: squares in one request, where the shape takes several.

    `input_type`: Cohere's own service wants `image`, vLLM wants none.
    """

    shape: RemoteShape = RemoteShape.INFINITY
    per_request: int = 16
    input_type: str = ""


_PATHS = {
    RemoteShape.INFINITY: "/embeddings",
    RemoteShape.VLLM: "/v1/embeddings",
    RemoteShape.COHERE: "/v2/embed",
}


class RemoteImageEncoder:
    """`ImageEncoder` on a server. The vectors' size is learnt from its first reply and holds from then on."""

    def __init__(self, server: RemoteServer, options: RemoteOptions) -> None:
        self._server = server
        self._options = options
        self._size: int | None = None
        self.name = server.model or "remote"

    @property
    def size(self) -> int:
        """Learnt by encoding a drawn pattern, unless the server has answered before."""
        return self._size or len(self.forward([probe_picture()])[0])

    def views(self, photo: RGB) -> list[RGB]:
        """Squares of the photo, the centre first."""
        return square_views(photo, _MAX_SIDE)

    def forward(self, views: Sequence[RGB]) -> list[Floats]:
        """One unit vector a view. Raises what `RemoteServer` raises, also for vectors of no use."""
        uris = [data_uri(encode_jpeg(view)) for view in views]
        step = 1 if self._options.shape is RemoteShape.VLLM else self._options.per_request
        return self._in_parts(uris, step, _image_body)

    def forward_texts(self, texts: Sequence[str]) -> list[Floats]:
        """One unit vector a text, in the photos' space where the model has one for both. Raises as above."""
        return self._in_parts(texts, self._options.per_request, _text_body)

    def _in_parts(self, inputs: Sequence[str], step: int, body: "_Body") -> list[Floats]:
        parts = [inputs[start : start + step] for start in range(0, len(inputs), step)]
        vectors = work_in_threads(lambda part: self._embed(part, body), parts, AT_ONCE)
        return [vector for part in vectors for vector in part]

    def _embed(self, inputs: Sequence[str], body: "_Body") -> list[Floats]:
        shape = self._options.shape
        reply = self._server.post(_PATHS[shape], body(inputs, self._options))
        try:
            if shape is RemoteShape.COHERE:
                values = list(reply["embeddings"]["float"])
            else:
                values = [entry["embedding"] for entry in in_index_order(reply["data"], len(inputs))]
            vectors = [unit_vector(each) for each in values]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._server.broken_reply() from error
        sizes = {len(vector) for vector in vectors} | ({self._size} if self._size else set())
        if len(vectors) != len(inputs) or len(sizes) != 1:
            raise self._server.broken_reply()
        self._size = sizes.pop()
        return vectors


_Body = Callable[[Sequence[str], RemoteOptions], dict[str, Any]]


def _image_body(uris: Sequence[str], options: RemoteOptions) -> dict[str, Any]:
    match options.shape:
        case RemoteShape.INFINITY:
            return {"input": list(uris), "modality": "image"}
        case RemoteShape.VLLM:
            parts = [{"type": "image_url", "image_url": {"url": uri}} for uri in uris]
            return {"messages": [{"role": "user", "content": parts}]}
        case RemoteShape.COHERE:
            extra = {"input_type": options.input_type} if options.input_type else {}
            return {"images": list(uris), "embedding_types": ["float"]} | extra


def _text_body(texts: Sequence[str], options: RemoteOptions) -> dict[str, Any]:
    match options.shape:
        case RemoteShape.INFINITY:
            return {"input": list(texts), "modality": "text"}
        case RemoteShape.VLLM:
            # Without -1, which stands for the model's own length, a longer text is a 400.
            return {"input": list(texts), "truncate_prompt_tokens": -1}
        case RemoteShape.COHERE:
            extra = {"input_type": "search_query"} if options.input_type else {}
            return {"texts": list(texts), "embedding_types": ["float"], "truncate": "END"} | extra
