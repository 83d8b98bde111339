"""Requests as devices write them to the socket, from the published sources of their clients.

Boards: `78/xiaozhi-esp32` (`boards/common/esp32_camera.cc`) and its HTTP client `78/esp-ml307`, which writes
the headers in the order of their names. Glasses and phone: `Mentra-Community/MentraOS` (`MediaCaptureService`
and `BlePhotoUploadService`), whose HTTP client is OkHttp 4.
"""

from tests.wire import head

TOKEN = "lg_abcdefgh_0123456789"
DEVICE, CLIENT = "a1:b2:c3:d4:e5:f6", "8a1b2c3d-0000-4000-8000-1234567890ab"
_BOARD_EDGE, _GLASSES_EDGE = "----ESP32_CAMERA_BOUNDARY", "3b7c9a52-6f0e-4d44-9c5c-0d3f2f3f7f10"
_ENCODER_WRITES = 512


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def board_pieces(
    question: str,
    photo: bytes,
    token: str = TOKEN,
    device: str = DEVICE,
    client: str = CLIENT,
) -> list[bytes]:
    """What a board sends, write by write: the head, then each chunk as the encoder comes to it."""
    fields = {
        **({"Authorization": f"Bearer {token}"} if token else {}),
        "Client_Id": client,
        "Content_Type": f"multipart/form-data; boundary={_BOARD_EDGE}",
        "Device_Id": device,
        "Transfer_Encoding": "chunked",
        "Connection": "close",
    }
    name = f'--{_BOARD_EDGE}\r\nContent-Disposition: form-data; name="question"\r\n\r\n{question}\r\n'
    file = (
        f'--{_BOARD_EDGE}\r\nContent-Disposition: form-data; name="file"; filename="camera.jpg"\r\n'
        "Content-Type: image/jpeg\r\n\r\n"
    )
    encoded = [photo[at : at + _ENCODER_WRITES] for at in range(0, len(photo), _ENCODER_WRITES)]
    footer = f"\r\n--{_BOARD_EDGE}--\r\n".encode()
    chunks = [_chunk(piece) for piece in (name.encode(), file.encode(), *encoded, footer)]
    return [head("POST", "/devices/photo-question", **fields), *chunks, b"0\r\n\r\n"]


def _okhttp(path: str, parts: list[bytes], token: str) -> bytes:
    edge = _GLASSES_EDGE.encode()
    body = b"".join(b"--" + edge + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + edge + b"--\r\n"
    fields = {
        **({"Authorization": f"Bearer {token}"} if token else {}),
        "Content_Type": f"multipart/form-data; boundary={_GLASSES_EDGE}",
        "Content_Length": len(body),
        "Connection": "Keep-Alive",
        "Accept_Encoding": "gzip",
        "User_Agent": "okhttp/4.12.0",
    }
    return head("POST", path, **fields) + body


def _text(name: str, value: str) -> bytes:
    head_of_part = (
        f'Content-Disposition: form-data; name="{name}"\r\nContent-Length: {len(value)}\r\n\r\n{value}'
    )
    return head_of_part.encode()


def _photo(file_name: str, photo: bytes) -> bytes:
    head_of_part = f'Content-Disposition: form-data; name="photo"; filename="{file_name}"\r\n'
    return f"{head_of_part}Content-Type: image/jpeg\r\nContent-Length: {len(photo)}\r\n\r\n".encode() + photo


def glasses(request_id: str, photo: bytes, query: str = "", token: str = TOKEN) -> bytes:
    """What glasses send over their own Wi-Fi."""
    parts = [
        _photo("IMG_20261123_101500.jpg", photo),
        *(
            _text(*each)
            for each in (("requestId", request_id), ("type", "photo_upload"), ("success", "true"))
        ),
    ]
    return _okhttp(f"/devices/photo-question{query}", parts, token)


def phone(request_id: str, photo: bytes, query: str = "", token: str = TOKEN) -> bytes:
    """What the phone sends for glasses without Wi-Fi."""
    parts = [
        _text("requestId", request_id),
        _text("source", "ble_transfer"),
        _photo(f"{request_id}.jpg", photo),
    ]
    return _okhttp(f"/devices/photo-question{query}", parts, token)
