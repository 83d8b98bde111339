"""The classes of inputs, in the order in which they are sent."""

from tests.attacks.classes import (
    answer_form,
    answer_json,
    chat,
    documents,
    header_lines,
    photos,
    raw_http,
    service_ports,
    strangers,
    voice_devices,
)
from tests.attacks.inputs import AttackClass

CLASSES: dict[str, AttackClass] = {
    each.CLASS.name: each.CLASS
    for each in (
        *(answer_form, answer_json, chat, photos, header_lines),
        *(raw_http, strangers, service_ports, voice_devices, documents),
    )
}
