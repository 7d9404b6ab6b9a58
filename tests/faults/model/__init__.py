"""One store, one manifest, several workers, and a scheduler that decides what befalls each call."""

import pytest

pytest.register_assert_rewrite("tests.faults.model.checks")
