"""`loreglass serve --lan`: HTTPS for phones and other devices of the local network, each with its own key.

Programs on this machine go on without a key, over plain HTTP.
"""

from dataclasses import dataclass
from pathlib import Path

from chassis.http.serving import listen
from chassis.http.tls import TlsListener, server_context
from chassis.startup import WrongSettings
from deploy.certificate import OwnCertificate
from deploy.invitations import Invitations
from deploy.settings import PocketSettings
from gateway.settings import GatewaySettings

_EVERYWHERE = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Lan:
    """The platform's HTTPS for the local network."""

    tls: TlsListener
    certificate: OwnCertificate
    invitations: Invitations
    keys_file: Path

    @classmethod
    def open(cls, settings: PocketSettings, keys_file: Path | None) -> "Lan":
        """Make what is missing and listen. `keys_file`: the operator's own.

        Raises `OSError` for a taken port, `WrongSettings` if a file cannot be made.
        """
        folder = settings.data_dir / "lan"
        certificate = OwnCertificate(folder)
        certificate.renew()
        keys_file = keys_file or _own_keys_file(folder)
        context = server_context()
        certificate.load_into(context)
        tls = TlsListener(listen(_EVERYWHERE, settings.lan_port), context)
        port = tls.listener.getsockname()[1]

        def site() -> str:
            names = certificate.names()
            return f"https://{next(iter(names.addresses), names.hosts[-1])}:{port}"

        return cls(tls, certificate, Invitations(site, keys_file), keys_file)

    def settings(self, gateway: GatewaySettings) -> GatewaySettings:
        """Return the gateway's settings with keys for other machines, and the names of this one."""
        hosts = (*gateway.hosts, *self.certificate.names().hosts)
        own_keys = gateway.keys is None
        return gateway.model_copy(
            update={"keys": self.keys_file, "local_without_key": own_keys, "hosts": hosts}
        )

    def description(self) -> str:
        """Return what to do with a phone."""
        invitation = self.invitations.invite()
        return (
            f"For a phone, scan this code or open {invitation.url}\n"
            f"{invitation.in_terminal()}"
            "The code works once, within an hour. For another device: “Add a phone” at /operator.\n"
            "The phone warns once: the certificate is this machine's own. Compare its SHA-256 fingerprint:\n"
            f"{self.certificate.fingerprint()}"
        )


def _own_keys_file(folder: Path) -> Path:
    file = folder / "keys.toml"
    try:
        file.touch(0o600)
    except OSError as error:
        raise WrongSettings(f"{file}: it cannot be made ({error.strerror}).") from error
    return file
