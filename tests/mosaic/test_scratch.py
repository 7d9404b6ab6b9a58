"""Assembly's scratch file: what fits, and what does not."""

import errno
import tempfile
from pathlib import Path

import numpy as np
import pytest

from scenemosaic.errors import PermanentStoreError
from scenemosaic.mosaic.scratch import scratch_file
from scenemosaic.tiff.runs import Run
from tests.limits import file_size_limit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def run_of(*pieces: bytes) -> Run:
    return Run(pieces, np.array([len(piece) for piece in pieces], np.uint32), 0, ())


def test_what_does_not_fit_is_said_with_its_folder_and_what_helps(folder: Path) -> None:
    too_much = run_of(b"a" * 600, b"b" * 600)
    refused = pytest.raises(PermanentStoreError)
    with scratch_file() as scratch, file_size_limit(1000), refused as caught:
        scratch.add(too_much)
    assert all(word in str(caught.value) for word in (str(folder), "TMPDIR", "ulimit -f"))
    assert list(folder.iterdir()) == []


def test_a_run_after_one_that_did_not_fit_lies_where_it_says() -> None:
    with scratch_file() as scratch:
        first = scratch.add(run_of(b"a" * 600))
        with file_size_limit(1000), pytest.raises(PermanentStoreError):
            scratch.add(run_of(b"b" * 600))
        second = scratch.add(run_of(b"c" * 300_000, b"d"))
        assert first is not None
        assert second is not None
        assert scratch.read(first) == b"a" * 600
        assert scratch.read(second) == b"c" * 300_000 + b"d"


def test_no_folder_with_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(PermanentStoreError, match=r"TMPDIR.*No usable temporary"), scratch_file():
        pass
