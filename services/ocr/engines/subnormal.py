"""ONNX models without subnormal weights.

A weight below 1.2e-38 says nothing, but on many processors each product with one takes over a hundred
cycles: two layers of the text detector, most of whose weights have decayed so far, took three quarters of its
time. The flag with which onnxruntime flushes such numbers (`session.set_denormal_as_zero`) acts on the first
session of a process and on the thread that made it, so it would hang on who starts first. Hence the weights
themselves are set to zero, in place, in the file's bytes (protocol buffers' wire format:
https://protobuf.dev/programming-guides/encoding/, fields as in onnx.proto).
"""

from collections.abc import Iterator

import numpy as np

_GRAPH, _INITIALIZER = 7, 5  # of ModelProto, of GraphProto
_DATA_TYPE, _RAW_DATA = 2, 9  # of TensorProto
_FLOAT = 1
_VARINT = 0
_FIXED = {1: 8, 5: 4}
"""Sizes of the kinds of values that do not name their own."""

Field = tuple[int, int | memoryview]


def without_subnormals(model: bytes) -> bytes:
    """The same model, its float32 weights that are not zero but below the least normal number set to zero."""
    whole = memoryview(bytearray(model))
    for graph in _parts(whole, _GRAPH):
        for tensor in _parts(graph, _INITIALIZER):
            fields = dict(_fields(tensor))
            raw = fields.get(_RAW_DATA)
            if fields.get(_DATA_TYPE) == _FLOAT and isinstance(raw, memoryview):
                weights = np.frombuffer(raw, "<f4")
                weights[np.abs(weights) < np.finfo(np.float32).tiny] = 0
    return bytes(whole)


def _parts(message: memoryview, number: int) -> Iterator[memoryview]:
    """The messages under a field's number."""
    for field, value in _fields(message):
        if field == number and isinstance(value, memoryview):
            yield value


def _fields(message: memoryview) -> Iterator[Field]:
    """Numbers and values of a message's fields; what lies within lengths is a view, so it can be written."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        size = _FIXED.get(kind)
        if size is None:
            size, place = _varint(message, place)
        yield number, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """The number there, and the place after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 0x7F) << shift
        shift, place = shift + 7, place + 1
        if byte < 0x80:
            return number, place
