"""A server of files over HTTP and HTTPS, which S3's clients read as a bucket, too."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from scenemosaic.grids.grid import Window
from scenemosaic.sources import rasters as sources
from scenemosaic.sources import s3_reading
from scenemosaic.sources.rasters import close_sources
from scenemosaic.sources.silence import Silences
from tests import servers
from tests.plan.rasters import write_raster
from tests.plan.web import Site, serving

PIXELS = np.arange(40 * 50).reshape(1, 40, 50).astype("uint16")
WINDOW = Window(0, 0, 0, 0, 40, 50)


@dataclass(frozen=True)
class Web:
    url: str
    tls_url: str
    certificate: Path
    folder: Path


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    folder = tmp_path_factory.mktemp("web")
    write_raster(folder / "a.tif", PIXELS, nodata=0)
    (folder / "bucket").mkdir()
    (folder / "bucket" / "a.tif").write_bytes((folder / "a.tif").read_bytes())
    certificate, port = _certificate(folder), servers.free_port()
    with serving(folder, str(port), str(certificate)) as url:
        yield Web(url, f"https://127.0.0.1:{port}", certificate, folder)


def _certificate(folder: Path) -> Path:
    """A key and a certificate of 127.0.0.1, signed by itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / "certificate.pem"
    file.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def site(web: Web, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The server without trouble, and clients that know nothing of earlier tests."""
    monkeypatch.setattr(sources, "SILENCES", Silences())
    _forget()
    yield Site(web.url, web.folder)
    Site(web.url, web.folder)
    _forget()


def _forget() -> None:
    close_sources()
    s3_reading._client.cache_clear()
    s3_reading._boto_session.cache_clear()
