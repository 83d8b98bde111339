"""Sentence vectors from a ready-made server that speaks OpenAI's embeddings: vLLM, Infinity, TEI, OpenAI."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chassis.http.remote import RemoteServer, content_part, in_index_order, unit_vector, without_controls
from chassis.tokens import shorten
from services.text_search.engine import Instructions, Vector, model_name


class RemoteShape(StrEnum):
    """The server's API: OpenAI's embeddings of texts, or vLLM's of chats, which may hold a photo."""

    OPENAI = "openai"
    VLLM = "vllm"


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """`max_batch`: texts a request; the server shares its forward passes itself. `max_tokens`: its limit."""

    path: str = "/v1/embeddings"
    max_batch: int = 16
    max_tokens: int = 512


class RemoteEncoder:
    """`TextEncoder` by a server."""

    kind = "remote"

    def __init__(
        self,
        server: RemoteServer,
        instructions: Instructions | None = None,
        options: RemoteOptions | None = None,
    ) -> None:
        """Ask once, to learn the size of the vectors, and the model's name unless it is set.

        Raises as `RemoteServer.post` does.
        """
        self._server = server
        self._instructions = instructions or Instructions()
        self._options = options or RemoteOptions()
        self.size = 0
        reply = self._ask([self._input("", "Who wrote it?")])
        self.size = len(self._vectors(reply, 1)[0])
        model = model_name(server.model or str(reply.get("model") or "")) or "a remote model"
        self.name = self._instructions.name_of(f"{model} ({self.kind})")

    def queries(self, texts: Sequence[str]) -> list[Vector]:
        return self._encode([self._input(self._instructions.query, text) for text in texts])

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        return self._encode([self._input(self._instructions.passage, text) for text in texts])

    def _encode(self, inputs: Sequence[Any]) -> list[Vector]:
        vectors: list[Vector] = []
        size = self._options.max_batch
        for start in range(0, len(inputs), size):
            batch = inputs[start : start + size]
            vectors.extend(self._vectors(self._ask(batch), len(batch)))
        return vectors

    def _input(self, instruction: str, text: str) -> Any:
        """Return a text's part of a request. Servers refuse an empty text, which a question may be."""
        return shorten(instruction + text, self._options.max_tokens) or " "

    def _body(self, inputs: Sequence[Any]) -> dict[str, Any]:
        return {"input": list(inputs), "encoding_format": "float"}

    def _ask(self, inputs: Sequence[Any]) -> Mapping[str, Any]:
        reply = self._server.post(self._options.path, self._body(inputs))
        if not isinstance(reply, Mapping):
            raise self._server.broken_reply()
        return reply

    def _vectors(self, reply: Mapping[str, Any], count: int) -> list[Vector]:
        try:
            vectors = [unit_vector(entry["embedding"]) for entry in in_index_order(reply["data"], count)]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._server.broken_reply() from error
        sizes = {len(vector) for vector in vectors}
        if len(sizes) != 1 or (self.size and sizes != {self.size}):
            raise self._server.broken_reply()
        return vectors


class RemoteSeeingEncoder(RemoteEncoder):
    """Vectors of a text and a picture (a JPEG) together, by vLLM.

    An input is a chat of an instruction, a picture, if there is one, and a text.
    Source: Qwen3-VL-Embedding (Li et al. 2026, arXiv:2601.04720) and its repository: the vector is that of
    the last token, after the chat template has begun the reply.
    """

    kind = "remote, photos"

    def queries_about(self, texts: Sequence[str], photo: bytes) -> list[Vector]:
        """Return a vector for each question with the photo, in order."""
        return self._encode([self._input(self._instructions.query, text, photo) for text in texts])

    def passages_with(self, texts: Sequence[str], pictures: Sequence[bytes | None]) -> list[Vector]:
        """Return a vector for each passage with its picture, if it has one, in order."""
        instruction = self._instructions.passage
        return self._encode([self._input(instruction, *each) for each in zip(texts, pictures, strict=True)])

    def _input(self, instruction: str, text: str, picture: bytes | None = None) -> Any:
        words = [content_part(shorten(without_controls(text), self._options.max_tokens) or " ")]
        user = {"role": "user", "content": [content_part(picture), *words] if picture else words}
        return [{"role": "system", "content": [content_part(instruction)]}, user] if instruction else [user]

    def _body(self, inputs: Sequence[Any]) -> dict[str, Any]:
        return {
            "messages": list(inputs),
            "add_generation_prompt": True,
            "add_special_tokens": True,
            "encoding_format": "float",
        }
