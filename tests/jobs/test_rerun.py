"""Invariant 6: a second run of a finished job changes nothing and reads no source pixel."""

import json
from pathlib import Path

import pytest

from scenemosaic.sources import pin_cache, pins
from scenemosaic.sources import rasters as sources
from tests.faults.proxy import Proxy, no_faults
from tests.jobs.places import MakePlace, Place, finish
from tests.jobs.run_job import run


def test_no_mutating_call_reaches_store_or_manifest(s3_place: MakePlace, scene: Path) -> None:
    direct = s3_place()
    with Proxy(direct.env["AWS_ENDPOINT_URL"], no_faults) as proxy:
        env = {"AWS_ENDPOINT_URL": proxy.url, "DIRECT": direct.env["AWS_ENDPOINT_URL"]}
        place = Place(direct.root, direct.manifest, env)
        code, _, err = finish(place.start(scene, 512, "first"))
        assert code == 0, err
        assert proxy.mutations, "the proxy must have seen the first run's writes"
        proxy.clear()
        code, out, err = finish(place.start(scene, 512, "second"))
        assert code == 0, err
        assert json.loads(out)["outcome"] == "already-present"
        assert proxy.mutations == []
        assert len(proxy.requests) == 3, "item.json, the mosaic's HEAD, one query"


def test_no_source_pixel_is_read(
    local_place: MakePlace, scene: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = local_place()
    monkeypatch.setattr(pin_cache, "_memory", {})  # what an earlier test has left
    first = run(str(scene), place.root, place.manifest, 512, "first")
    before = place.versions()

    def pixels_are_read(*arguments: object) -> None:
        pytest.fail("a source's pixels were read")

    monkeypatch.setattr(sources, "_read", pixels_are_read)
    monkeypatch.setattr(pins, "hash_file", pixels_are_read)
    monkeypatch.setattr(pin_cache, "_memory", {})
    second = run(str(scene), place.root, place.manifest, 512, "second")
    assert (first["outcome"], second["outcome"]) == ("written", "already-present")
    assert second["written"] == 0
    assert place.versions() == before
