"""The store port's conformance suite, its adapters, and what is special to each."""

import pytest

pytest.register_assert_rewrite("tests.stores.conformance")
