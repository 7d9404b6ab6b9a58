"""Tests of the manifest adapters."""

import pytest

pytest.register_assert_rewrite("tests.manifests.conformance", "tests.manifests.support")
