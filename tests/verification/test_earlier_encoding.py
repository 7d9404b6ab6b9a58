"""A job that an earlier version planned: its tiles stay as they are, and it goes on."""

from pathlib import Path

import pytest

from scenemosaic import job
from scenemosaic.planning import decide
from scenemosaic.recipes.recipe import FIRST_ENCODING
from scenemosaic.verification.inspection import inspect_window
from scenemosaic.verification.verify import verify
from tests.jobs.places import MakePlace
from tests.mosaic.pictures import levels_of, same
from tests.validators import assert_valid_cog
from tests.verification.conftest import Finish
from tests.verification.damage import ME, NUMBER, Damage

UNSEEDED = 2


@pytest.fixture
def version(request: pytest.FixtureRequest) -> int:
    return int(getattr(request, "param", FIRST_ENCODING))


@pytest.fixture
def earlier(
    version: int,
    finish: Finish,
    local_place: MakePlace,
    small_scene: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Damage:
    """Its windows are committed; the mosaic is left to this version."""
    with monkeypatch.context() as patched:
        patched.setattr(decide, "ENCODING", version)
        return finish(local_place, small_scene, assemble=False)


@pytest.mark.parametrize("version", [FIRST_ENCODING, UNSEEDED], indirect=True)
def test_its_tiles_are_still_stitched(version: int, earlier: Damage, local_damage: Damage) -> None:
    job.assemble(earlier.spec, ME)
    assert verify(earlier.spec, deep=True).findings == ()
    old, new = (d.path(f"mosaics/{d.job_id}/mosaic.tif") for d in (earlier, local_damage))
    framed = b"BLOCK_LEADER=SIZE_AS_UINT4" in old.read_bytes()[:300]
    assert framed == (version == FIRST_ENCODING)
    assert b"BLOCK_LEADER" not in new.read_bytes()[:300]
    assert_valid_cog(old)
    assert_valid_cog(new)
    for (one, bits), (other, other_bits) in zip(levels_of(old), levels_of(new), strict=True):
        assert same(one, other)
        assert same(bits, other_bits)


def test_a_leader_that_is_not_the_blocks_own(earlier: Damage) -> None:
    data = earlier.read(earlier.tile())
    earlier.flip(earlier.tile(), len(data) - _last_block(data) - 8)
    state = inspect_window(earlier.session, earlier.spec, NUMBER, earlier.row(), deep=True)
    assert any("leader or trailer" in finding.detail for finding in state.findings)


def _last_block(data: bytes) -> int:
    """The size of the block at the end, by what its leader says of itself."""
    for size in range(1, len(data)):
        if int.from_bytes(data[-size - 8 : -size - 4], "little") == size:
            return size
    raise AssertionError("no block ends with the file")
