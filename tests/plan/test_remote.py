"""Remote sources: pinned by HEAD, read by ranges, one configuration, no secret shown."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from scenemosaic.errors import InputError, PermanentStoreError, SourceReadError, TransientStoreError
from scenemosaic.grids.grid import Window
from scenemosaic.planning import plan_scene
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources import web as web_sources
from scenemosaic.sources.byte_ranges import range_reader
from scenemosaic.sources.pins import pin_source, verify_pin
from scenemosaic.sources.rasters import close_sources, read_window
from scenemosaic.waiting.retry import Effects
from tests import servers
from tests.plan.rasters import write_raster
from tests.plan.web import Site, serving

WINDOW = Window(0, 0, 0, 0, 40, 50)
PIXELS = np.arange(40 * 50).reshape(1, 40, 50).astype("uint16")
SECRET = "X-Signature=s3cret"


@pytest.fixture
def raster(tmp_path: Path) -> bytes:
    return Path(write_raster(tmp_path / "a.tif", PIXELS, nodata=0)).read_bytes()


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("web")
    with serving(folder) as url:
        yield url, folder


@pytest.fixture
def site(web: tuple[str, Path], raster: bytes) -> Iterator[Site]:
    url, folder = web
    for old in folder.glob("*.tif"):
        old.unlink()
    (folder / "a.tif").write_bytes(raster)
    yield Site(url, folder)
    close_sources()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a busy server was waited for, each time; nobody waits."""
    waited: list[float] = []
    effects = Effects(time.monotonic, waited.append, lambda: 0.5)
    monkeypatch.setattr(web_sources, "system_effects", lambda: effects)
    return waited


def test_a_web_source_is_planned_and_read(site: Site) -> None:
    plan, locations = plan_scene([f"{site.url}/a.tif?{SECRET}"], PlanOptions())
    (pin,) = plan.sources
    assert (pin.uri, pin.etag, pin.sha256) == (f"{site.url}/a.tif", '"one"', None)
    assert plan.datetime_source == "last-modified"
    assert plan.datetime == "2024-05-01T10:00:00Z"
    assert b"s3cret" not in plan.canonical
    assert "s3cret" in locations[0]
    np.testing.assert_array_equal(read_window(locations[0], WINDOW, pin)[0], PIXELS)
    verify_pin(pin, locations[0])


def test_another_signature_is_the_same_job(site: Site) -> None:
    jobs = {plan_scene([f"{site.url}/a.tif?sig={n}"], PlanOptions())[0].job_id for n in range(3)}
    assert len(jobs) == 1


def test_nothing_beside_the_source_is_asked_for(site: Site) -> None:
    plan, locations = plan_scene([f"{site.url}/a.tif"], PlanOptions())
    read_window(locations[0], WINDOW, plan.sources[0])
    assert {line.split()[1] for line in site.asked()} == {"/a.tif"}


def test_a_source_replaced_on_the_server_is_found(site: Site) -> None:
    location = f"{site.url}/a.tif?{SECRET}"
    pin = pin_source(location).pin
    site.headers["ETag"] = '"two"'
    site.apply()
    with pytest.raises(SourceReadError, match="changed after it was pinned") as caught:
        verify_pin(pin, location)
    assert "s3cret" not in str(caught.value)
    (site.folder / "a.tif").unlink()
    with pytest.raises(SourceReadError, match="gone") as caught:
        verify_pin(pin, location)


def test_urls_signed_for_get_alone_can_be_pinned(site: Site, raster: bytes) -> None:
    site.status["HEAD"] = 403
    site.apply()
    pin = pin_source(f"{site.url}/a.tif").pin
    assert (pin.etag, pin.size_bytes) == ('"one"', len(raster))


def test_without_etag_the_time_and_length_pin(site: Site) -> None:
    del site.headers["ETag"]
    site.apply()
    pin = pin_source(f"{site.url}/a.tif").pin
    assert pin.last_modified == "2024-05-01T10:00:00Z"
    site.headers["Last-Modified"] = "Wed, 01 May 2024 10:00:01 GMT"
    site.apply()
    with pytest.raises(SourceReadError):
        verify_pin(pin, f"{site.url}/a.tif")
    del site.headers["Last-Modified"]
    site.apply()
    with pytest.raises(InputError, match="cannot be pinned"):
        pin_source(f"{site.url}/a.tif")


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_east")
@pytest.mark.parametrize("said", ["Wed May  1 10:00:00 2024", "Wed, 01 May 2024 10:00:00 -0000"])
def test_a_time_without_a_zone_is_the_same_on_every_machine(site: Site, said: str) -> None:
    del site.headers["ETag"]
    site.headers["Last-Modified"] = said
    site.apply()
    assert pin_source(f"{site.url}/a.tif").pin.last_modified == "2024-05-01T10:00:00Z"


@pytest.mark.parametrize("said", ["Fri, 31 Dec 9999 23:59:59 -0100", "yesterday"])
def test_a_time_that_is_none_does_not_pin(site: Site, said: str) -> None:
    site.headers["Last-Modified"] = said
    site.apply()
    assert pin_source(f"{site.url}/a.tif").pin.etag == '"one"'
    del site.headers["ETag"]
    site.apply()
    with pytest.raises(InputError, match="cannot be pinned"):
        pin_source(f"{site.url}/a.tif")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, InputError),
        (401, PermanentStoreError),
        (403, PermanentStoreError),
        (503, TransientStoreError),
    ],
)
def test_what_a_web_server_says(
    site: Site, status: int, error: type[Exception], pauses: list[float]
) -> None:
    site.status |= {"HEAD": status, "GET": status}
    site.apply()
    with pytest.raises(error) as caught:
        plan_scene([f"{site.url}/a.tif?{SECRET}"], PlanOptions())
    assert f"{site.url}/a.tif" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert len(pauses) == (3 if status == 503 else 0)


def test_a_busy_web_server_is_asked_again_when_it_says(site: Site, pauses: list[float]) -> None:
    site.more["failing"] = 3
    site.apply()
    assert pin_source(f"{site.url}/a.tif").pin.etag == '"one"'
    assert pauses == [2.0, 2.0, 2.0]
    site.more["failing"] = 1
    site.apply()
    assert range_reader(f"{site.url}/a.tif", 4)(0, 4) in (b"II*\0", b"II+\0")


@pytest.mark.parametrize(
    ("status", "error"), [(404, PermanentStoreError), (500, TransientStoreError)]
)
def test_a_range_that_is_refused_for_good_is_not_asked_for_again(
    site: Site, status: int, error: type[Exception], pauses: list[float]
) -> None:
    site.status["GET"] = status
    site.apply()
    with pytest.raises(error, match=r"a\.tif: byte 0 cannot be read"):
        range_reader(f"{site.url}/a.tif", 4)(0, 4)
    assert len(pauses) == (0 if status == 404 else 3)


def test_a_read_that_fails_shows_no_signature(site: Site) -> None:
    location = f"{site.url}/a.tif?{SECRET}"
    pin = pin_source(location).pin
    (site.folder / "a.tif").write_bytes(b"junk" * 100)
    with pytest.raises(SourceReadError) as caught:
        read_window(location, WINDOW, pin)
    assert "s3cret" not in str(caught.value)
    assert "a.tif" in str(caught.value)


def test_an_old_404_is_not_believed(site: Site, raster: bytes) -> None:
    location = f"{site.url}/late.tif"
    with pytest.raises(SourceReadError):
        read_window(location, WINDOW)
    (site.folder / "late.tif").write_bytes(raster)
    np.testing.assert_array_equal(read_window(location, WINDOW)[0], PIXELS)


def test_an_old_body_is_not_served(site: Site, tmp_path: Path) -> None:
    location = f"{site.url}/a.tif"
    first = pin_source(location).pin
    np.testing.assert_array_equal(read_window(location, WINDOW, first)[0], PIXELS)
    other = Path(write_raster(tmp_path / "b.tif", PIXELS + 1, nodata=0)).read_bytes()
    (site.folder / "a.tif").write_bytes(other)
    site.headers["ETag"] = '"two"'
    site.apply()
    second = pin_source(location).pin
    np.testing.assert_array_equal(read_window(location, WINDOW, second)[0], PIXELS + 1)


def test_no_server_at_all() -> None:
    with pytest.raises(TransientStoreError, match=r"127\.0\.0\.1"):
        pin_source(f"http://127.0.0.1:{servers.free_port()}/a.tif")


@pytest.fixture
def bucket(
    moto_server: str, fresh_bucket: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", moto_server)
    yield fresh_bucket(moto_server, versioned=True)
    close_sources()


def test_an_s3_source_is_planned_and_read(bucket: str, moto_server: str, raster: bytes) -> None:
    client = servers.aws_client("s3", moto_server)
    put = client.put_object(Bucket=bucket, Key="in/a b.tif", Body=raster)
    plan, locations = plan_scene([f"s3://{bucket}/in/a b.tif"], PlanOptions())
    (pin,) = plan.sources
    assert (pin.etag, pin.version_id) == (put["ETag"], put["VersionId"])
    assert (pin.uri, pin.size_bytes) == (f"s3://{bucket}/in/a b.tif", len(raster))
    np.testing.assert_array_equal(read_window(locations[0], WINDOW, pin)[0], PIXELS)
    verify_pin(pin, locations[0])
    client.put_object(Bucket=bucket, Key="in/a b.tif", Body=raster)
    with pytest.raises(SourceReadError, match="changed"):  # same bytes and ETag, another version
        verify_pin(pin, locations[0])


def test_missing_s3_sources(bucket: str) -> None:
    with pytest.raises(InputError, match="no such object"):
        plan_scene([f"s3://{bucket}/none.tif"], PlanOptions())


def test_no_credentials(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from scenemosaic.sources import s3_reading

    s3_reading._client.cache_clear()
    s3_reading._boto_session.cache_clear()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    try:
        with pytest.raises(PermanentStoreError, match="no AWS credentials"):
            plan_scene([f"s3://{bucket}/a.tif"], PlanOptions())
    finally:
        s3_reading._client.cache_clear()
        s3_reading._boto_session.cache_clear()


def test_one_endpoint_reaches_both(monkeypatch: pytest.MonkeyPatch) -> None:
    from scenemosaic.sources.reading_env import gdal_options

    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://s3.example.org:9000")
    options = gdal_options("s3://b/k")
    assert options["AWS_S3_ENDPOINT"] == "s3.example.org:9000"
    assert (options["AWS_HTTPS"], options["AWS_VIRTUAL_HOSTING"]) == ("YES", "FALSE")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    assert gdal_options("s3://b/k")["AWS_HTTPS"] == "NO"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "127.0.0.1:1")
    with pytest.raises(InputError, match="endpoint"):
        gdal_options("s3://b/k")
    assert "AWS_S3_ENDPOINT" not in gdal_options("/a.tif")
