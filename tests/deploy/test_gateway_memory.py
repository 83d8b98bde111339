"""What the gateway may need adds up to less than its container has, which would be ended as a whole."""

import yaml

from chassis.decoding import photos
from gateway.settings import GatewaySettings
from gateway.speech import decoder
from tests.deploy.compose_file import ROOT, SERVICES

_ITS_OWN = 256 << 20


def most_bytes() -> int:
    """As docs/operations.md adds it up, "Memory of the gateway"."""
    settings = GatewaySettings()
    return (
        _ITS_OWN
        + settings.session_bytes
        + 2 * settings.max_upload_bytes
        + 8 * settings.max_body_bytes
        + settings.photo_decoders * photos.MEMORY_BYTES
        + settings.audio_decoders * decoder.MEMORY_BYTES
    )


def test_what_it_may_need_is_what_the_documents_say() -> None:
    assert most_bytes() == 4 << 30


def test_its_container_has_a_quarter_more() -> None:
    text = (ROOT / "k8s/base/gateway.yaml").read_text("utf-8")
    (deployment,) = (each for each in yaml.safe_load_all(text) if each["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    given = {each["mem_limit"] for name, each in SERVICES.items() if name.startswith("gateway")}
    assert given == {container["resources"]["limits"]["memory"].removesuffix("i").lower()} == {"5g"}
    assert 1.25 * most_bytes() <= 5 << 30
