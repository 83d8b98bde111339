"""`loreglass serve --lan`: HTTPS for phones and other devices of the local network, each with its own key.

Programs on this machine go on without a key, over plain HTTP. The certificate is self-signed and names this
machine and its addresses. At a start it is made anew if it expires within a month or lacks a name; its key
stays, and only this user can read it.
"""

import ipaddress
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from chassis.files import replace_bytes
from chassis.http.serving import listen
from chassis.http.tls import TlsListener, server_context
from chassis.startup import WrongSettings
from deploy.invitations import Invitations
from deploy.settings import LiteSettings
from gateway.settings import GatewaySettings

_EVERYWHERE = "0.0.0.0"
VALID_FOR = timedelta(days=397)
RENEW_BEFORE = timedelta(days=30)
_CLOCKS_DIFFER_BY = timedelta(days=1)
_ELSEWHERE = ("192.0.2.1", 9)
"""An address of documentation (RFC 5737). Nothing is sent there; the route tells our own address."""

Now = Callable[[], datetime]
Names = Callable[[], "MachineNames"]


@dataclass(frozen=True, slots=True)
class MachineNames:
    """The host names of this machine and its IPv4 addresses in the local network."""

    hosts: tuple[str, ...]
    addresses: tuple[str, ...]

    @classmethod
    def current(cls) -> "MachineNames":
        """Return the names of this moment; they change with the network."""
        host = socket.gethostname().lower()
        if not host or not host.isascii():
            host = "localhost"
        hosts = (host,) if "." in host else (host, f"{host}.local")
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_ELSEWHERE)
            return cls(hosts, (probe.getsockname()[0],))
        return cls(hosts, ())


@dataclass(frozen=True, slots=True)
class OwnCertificate:
    """The files in `folder`: `certificate.pem` and `key.pem`. Calls block."""

    folder: Path
    now: Now = lambda: datetime.now(UTC)
    names: Names = MachineNames.current

    @property
    def file(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def key_file(self) -> Path:
        """Return the private key's file, of mode 0600."""
        return self.folder / "key.pem"

    def renew(self) -> bool:
        """Make the certificate if there is none that will do. Return whether it is new.

        Raises `WrongSettings` if the files cannot be written.
        """
        names = self.names()
        try:
            if self._will_do(names):
                return False
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_bytes(self.file, _signed(self._key(), names, self.now()))
        except OSError as error:
            raise WrongSettings(f"{self.folder}: no certificate can be kept ({error.strerror}).") from error
        return True

    def load_into(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self.file, self.key_file)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the certificate as browsers show it."""
        return x509.load_pem_x509_certificate(self.file.read_bytes()).fingerprint(hashes.SHA256()).hex(":")

    def _will_do(self, names: MachineNames) -> bool:
        try:
            certificate = x509.load_pem_x509_certificate(self.file.read_bytes())
            names_in_it = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            is_ours = certificate.public_key() == self._key().public_key()
        except (FileNotFoundError, ValueError, x509.ExtensionNotFound):
            return False
        missing = set(_alternatives(names)) - set(names_in_it)
        return is_ours and not missing and certificate.not_valid_after_utc - self.now() > RENEW_BEFORE

    def _key(self) -> ec.EllipticCurvePrivateKey:
        with suppress(FileNotFoundError, ValueError, TypeError):
            key = serialization.load_pem_private_key(self.key_file.read_bytes(), password=None)
            if isinstance(key, ec.EllipticCurvePrivateKey):
                self.key_file.chmod(0o600)
                return key
        key = ec.generate_private_key(ec.SECP256R1())
        form = serialization.PrivateFormat.PKCS8
        plain = serialization.NoEncryption()
        replace_bytes(self.key_file, key.private_bytes(serialization.Encoding.PEM, form, plain), mode=0o600)
        return key


def _signed(key: ec.EllipticCurvePrivateKey, names: MachineNames, now: datetime) -> bytes:
    """Return a self-signed certificate (RFC 5280) in PEM."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Loreglass on {names.hosts[0]}"[:64])])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    builder = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER_BY)
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(_alternatives(names)), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _alternatives(names: MachineNames) -> list[x509.GeneralName]:
    hosts = dict.fromkeys([*names.hosts, "localhost"])
    addresses = dict.fromkeys([*names.addresses, "127.0.0.1"])
    return [*map(x509.DNSName, hosts), *(x509.IPAddress(ipaddress.ip_address(each)) for each in addresses)]


@dataclass(frozen=True, slots=True)
class Lan:
    """The platform's HTTPS for the local network."""

    tls: TlsListener
    certificate: OwnCertificate
    invitations: Invitations
    keys_file: Path

    @classmethod
    def open(cls, settings: LiteSettings, keys_file: Path | None) -> "Lan":
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
