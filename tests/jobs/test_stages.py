"""A mosaic of more parts than S3 puts together is made in two stages, each written once."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scenemosaic.errors import ForeignObject, TransientStoreError
from scenemosaic.stores import s3
from scenemosaic.stores.local import LocalStore
from scenemosaic.stores.s3_parts import Limits
from tests.faults.proxy import Fault, once
from tests.faults.wire import Request
from tests.jobs.assembling import Committed, is_complete, is_create, mosaic_of
from tests.jobs.conftest import committed, noise, s3_place
from tests.jobs.places import client
from tests.validators import assert_valid_cog

__all__ = ["committed", "noise", "s3_place"]
MIB = 1 << 20


@pytest.fixture(autouse=True)
def few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "S3_LIMITS", Limits(MIB, 5000 * MIB, 2 * MIB, 4))


def stored(committed: Committed, key: str) -> bytes:
    parts = urlsplit(committed.place.root)
    full = f"{parts.path.strip('/')}/{key}"
    found = client(committed.place, "s3").get_object(Bucket=parts.netloc, Key=full)
    return bytes(found["Body"].read())


def stages(committed: Committed) -> dict[str, list[str]]:
    return {k: v for k, v in committed.place.versions().items() if k.startswith("stages/")}


def is_to(kind: str, chosen: Callable[[Request], bool]) -> Callable[[Request], bool]:
    return lambda seen: chosen(seen) and f"/{kind}/" in seen.path


def test_the_mosaic_is_the_same_and_each_stage_is_written_once(
    committed: Committed, noise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert committed.assemble("run-1").outcome == "written"
    data = stored(committed, committed.key)
    # In the order of blocks that S3 copies.
    monkeypatch.setattr(LocalStore, "capabilities", s3.S3Store.capabilities)
    assert data == mosaic_of(noise, tmp_path)
    (tmp_path / "mosaic.tif").write_bytes(data)
    assert_valid_cog(tmp_path / "mosaic.tif")
    assert len(stages(committed)) == 2
    assert all(len(found) == 1 for found in committed.place.versions().values())
    assert committed.place.uploads() == []


def test_a_run_after_a_dead_one_takes_its_stages_over(committed: Committed) -> None:
    refused = is_to("mosaics", is_create)
    committed.proxy.rule = lambda seen: Fault.REFUSE_503 if refused(seen) else None
    with pytest.raises(TransientStoreError):
        committed.assemble("run-1")
    before = stages(committed)
    assert len(before) == 2
    committed.proxy.rule = lambda seen: None
    assert committed.assemble("run-2").outcome == "written"
    assert stages(committed) == before
    assert committed.place.uploads() == []


def test_a_stage_whose_reply_was_lost_is_found(committed: Committed) -> None:
    committed.proxy.rule = once(Fault.RESET, is_to("stages", is_complete))
    assert committed.assemble("run-1").outcome == "written"
    assert all(len(found) == 1 for found in stages(committed).values())
    assert committed.place.uploads() == []


def test_what_is_not_ours_at_a_stages_key_is_a_conflict(committed: Committed) -> None:
    refused = is_to("mosaics", is_create)
    committed.proxy.rule = lambda seen: Fault.REFUSE_503 if refused(seen) else None
    with pytest.raises(TransientStoreError):
        committed.assemble("run-1")
    committed.proxy.rule = lambda seen: None
    committed.put_by_hand(next(iter(stages(committed))), b"something else")
    with pytest.raises(ForeignObject, match="stages/"):
        committed.assemble("run-2")
    assert committed.key not in committed.place.versions()
