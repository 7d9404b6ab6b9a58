"""One configuration reaches boto3 and GDAL: profile, endpoint, TLS, credentials, who pays."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, PartialCredentialsError

from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.planning import plan_scene
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources import s3_reading
from scenemosaic.sources.pins import pin_source, verify_pin
from scenemosaic.sources.rasters import read_window
from tests.plan.web import Site
from tests.remote.conftest import PIXELS, WINDOW, Web

SOURCE = "s3://bucket/a.tif"


def read_all() -> Pin:
    """Planned, read by GDAL and checked: each way to the source is gone."""
    plan, locations = plan_scene([SOURCE], PlanOptions())
    (pin,) = plan.sources
    np.testing.assert_array_equal(read_window(locations[0], WINDOW, pin)[0], PIXELS)
    verify_pin(pin, locations[0])
    return pin


def asked(site: Site) -> list[list[str]]:
    """(method, path, key, payer) of what the server was asked, both clients' requests."""
    lines = [line.split() for line in site.asked()]
    assert {"HEAD", "GET"} == {line[0] for line in lines}
    return lines


@pytest.fixture
def profile(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, pytest.MonkeyPatch]:
    """A profile alone says everything: endpoint, and a program that knows the credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    answer = tmp_path / "credentials.json"
    config = tmp_path / "config"
    config.write_text(
        f"[profile rotating]\nregion = eu-central-1\nendpoint_url = {site.url}\n"
        f"credential_process = cat {answer}\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "rotating")
    return answer, monkeypatch


def issue(answer: Path, key: str) -> None:
    """Temporary credentials that expire so soon that they are renewed before each use."""
    expires = (datetime.now(UTC) + timedelta(minutes=2)).isoformat()
    secret = {"AccessKeyId": key, "SecretAccessKey": "secret", "SessionToken": f"of {key}"}
    answer.write_text(json.dumps({"Version": 1, "Expiration": expires, **secret}))


def test_credentials_are_renewed_while_a_source_is_open(
    site: Site, profile: tuple[Path, pytest.MonkeyPatch]
) -> None:
    issue(profile[0], "FIRST")
    site.more["key"] = "FIRST"
    site.apply()
    pin = read_all()
    issue(profile[0], "SECOND")
    site.more["key"] = "SECOND"  # the first ones have expired
    site.apply()
    np.testing.assert_array_equal(read_window(SOURCE, WINDOW, pin)[0], PIXELS)
    verify_pin(pin, SOURCE)
    assert {line[2] for line in asked(site)} == {"SECOND"}


def test_credentials_that_cannot_be_renewed_are_a_fault_with_a_name(
    site: Site, profile: tuple[Path, pytest.MonkeyPatch]
) -> None:
    issue(profile[0], "FIRST")
    pin = pin_source(SOURCE).pin
    profile[0].unlink()
    with pytest.raises(TransientStoreError, match=r"s3://bucket/a\.tif: its AWS credentials: "):
        read_window(SOURCE, WINDOW, pin)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ClientError({"Error": {"Code": "AccessDenied"}}, "AssumeRole"), PermanentStoreError),
        (PartialCredentialsError(provider="env", cred_var="key"), PermanentStoreError),
        (EndpointConnectionError(endpoint_url="https://sts"), TransientStoreError),
    ],
)
def test_what_refuses_or_delays_credentials_is_told_apart(
    error: Exception, kind: type[StoreError], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Session:
        def get_credentials(self) -> Any:
            raise error

    monkeypatch.setattr(s3_reading, "aws_session", Session)
    with pytest.raises(kind, match="its AWS credentials"):
        s3_reading.credentials_mark(SOURCE)


def test_whoever_asks_pays(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", site.url)
    monkeypatch.setenv("AWS_REQUEST_PAYER", "requester")
    read_all()
    assert {tuple(line[2:]) for line in asked(site)} == {("test", "requester")}


def test_open_data_needs_no_credentials(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", site.url)
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "YES")
    read_all()
    assert {tuple(line[2:]) for line in asked(site)} == {("-", "-")}


def test_an_endpoint_with_tls_of_its_own(
    site: Site, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", web.tls_url)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(web.certificate))
    read_all()
    # Nothing but the source is asked for: no listing, no side file.
    assert {line[1] for line in asked(site)} == {"/bucket/a.tif"}
