"""Manifests to keep claims in: SQLite in memory, and every adapter of the port."""

from collections.abc import Callable

import pytest

from scenemosaic.claiming.claims import ClaimName, Claims, ClaimSettings
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.waiting.retry import RetryPolicy
from tests.faults.effects import FakeTime
from tests.manifests.conftest import case, made

__all__ = ["case", "made"]

LEASE_S = 30.0
NAME = ClaimName("claims:job@root", "assembly", "s3://bucket/mosaics/job/mosaic.tif")
MakeClaims = Callable[..., Claims]


def claims_in(manifest: Manifest, time: FakeTime, lease_s: float = LEASE_S) -> Claims:
    """One machine's claims: its clock is its own, its nonces count from 1."""
    count = iter(range(1, 1000))
    settings = ClaimSettings(lease_s, 600.0, lambda: f"{next(count)}")
    policy = RetryPolicy(attempts=5)
    return Claims(manifest, settings, policy, time.effects(), lambda: "2026-11-29T12:00:00Z")


@pytest.fixture
def rows() -> Manifest:
    manifest = open_manifest("sqlite://")
    manifest.ensure()
    return manifest
