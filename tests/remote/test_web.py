"""HTTP(S) sources: redirects, servers without ranges, silence and drips, own certificates."""

from pathlib import Path

import numpy as np
import pytest

from scenemosaic import job
from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError
from scenemosaic.planning import plan_scene
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.session import Run
from scenemosaic.sources import rasters as sources
from scenemosaic.sources.byte_ranges import range_reader
from scenemosaic.sources.pins import pin_source, verify_pin
from scenemosaic.sources.rasters import read_window
from scenemosaic.sources.silence import Silences
from tests.plan.web import Site
from tests.remote.conftest import PIXELS, WINDOW, Web


def test_a_redirect_is_followed_by_all_who_read(site: Site) -> None:
    site.more["redirects"] = {"/moved.tif": f"{site.url}/a.tif"}
    site.apply()
    plan, locations = plan_scene([f"{site.url}/moved.tif"], PlanOptions())
    (pin,) = plan.sources
    assert pin.uri == f"{site.url}/moved.tif"
    np.testing.assert_array_equal(read_window(locations[0], WINDOW, pin)[0], PIXELS)
    verify_pin(pin, locations[0])
    # A HEAD stays one: a GET would begin to send the whole source.
    assert site.asked()[:2] == ["HEAD /moved.tif - -", "HEAD /a.tif - -"]


def test_a_redirect_leads_to_no_other_scheme(site: Site) -> None:
    site.more["redirects"] = {"/a.tif": "ftp://127.0.0.1/a.tif"}
    site.apply()
    with pytest.raises(PermanentStoreError, match="another scheme"):
        pin_source(f"{site.url}/a.tif")


def test_a_server_without_ranges_is_refused(site: Site) -> None:
    site.more["ranges"] = False
    site.apply()
    with pytest.raises(InputError, match=r"a\.tif: its server serves no ranges.*copy it first"):
        plan_scene([f"{site.url}/a.tif"], PlanOptions())


def test_a_drip_ends_at_the_deadline(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.more["trouble"] = "drip"
    site.apply()
    monkeypatch.setenv("SCENEMOSAIC_CALL_DEADLINE_S", "0.4")
    with pytest.raises(TransientStoreError, match=r"a\.tif"):
        plan_scene([f"{site.url}/a.tif"], PlanOptions())


def test_a_hung_source_is_not_asked_by_every_window(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = f"{site.url}/a.tif?X-Signature=s3cret"
    options = PlanOptions(window=16, block_size=16)
    spec = job.plan_job([location], str(tmp_path / "root"), None, options)
    job.prepare(spec)
    site.more["trouble"] = "hang"
    site.apply()
    monkeypatch.setenv("SCENEMOSAIC_CALL_DEADLINE_S", "0.5")
    monkeypatch.setattr(sources, "SILENCES", Silences(in_a_row=1))
    result = job.commit_windows(spec, range(12), Run("run", "run"))
    assert {one.outcome for one in result.outcomes} == {"failed"}
    first, *others = [str(one.error) for one in result.outcomes]
    assert "too slow" in first
    assert all("no answer" in one and "is not asked again" in one for one in others)
    assert all(f"{site.url}/a.tif" in one and "s3cret" not in one for one in (first, *others))
    assert 1 <= len(site.asked()) <= 2  # and not asked again after its silence


def test_a_certificate_reaches_python_and_gdal(
    site: Site, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = f"{web.tls_url}/a.tif"
    for ask in (pin_source, lambda one: range_reader(one, 4)(0, 4)):
        with pytest.raises(PermanentStoreError, match="certificate"):
            ask(location)
    monkeypatch.setenv("SSL_CERT_FILE", str(web.certificate))
    plan, locations = plan_scene([location], PlanOptions())
    np.testing.assert_array_equal(read_window(locations[0], WINDOW, plan.sources[0])[0], PIXELS)
