"""Refusals and outcomes move OpenTelemetry's counters; without an SDK nothing happens."""

import hashlib

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from scenemosaic.committing import metrics
from scenemosaic.committing.commit import Outcome, commit_object
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Body, IfAbsent
from scenemosaic.waiting.retry import RetryPolicy
from tests.faults.effects import FakeTime


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> InMemoryMetricReader:
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("test")
    monkeypatch.setattr(metrics, "_refusals", meter.create_counter(metrics.REFUSALS))
    monkeypatch.setattr(metrics, "_outcomes", meter.create_counter(metrics.OUTCOMES))
    return reader


def _points(reader: InMemoryMetricReader) -> dict[tuple[str, ...], int]:
    data = reader.get_metrics_data()
    found = {}
    for resource in data.resource_metrics if data else []:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    values = [str(value) for value in (point.attributes or {}).values()]
                    # Instrument names are case-insensitive: the SDK spells them in lower case.
                    found[metric.name.lower(), *values] = point.value
    return found


def _body(write_id: str) -> Body:
    sha256 = hashlib.sha256(b"x").hexdigest()
    facts = {"sha256": sha256, "write_id": write_id, "job_id": "j"}
    return Body(b"x", sha256, "text/plain", facts)


def test_a_refusal_is_counted_under_its_name(
    counted: InMemoryMetricReader, tmp_path: object
) -> None:
    store = open_store(str(tmp_path))
    outcomes = [
        commit_object(
            store, "a/b", _body(name), IfAbsent(), RetryPolicy(), FakeTime().effects()
        ).outcome
        for name in ("one", "two")
    ]
    assert outcomes == [Outcome.WRITTEN, Outcome.ALREADY_PRESENT]
    assert _points(counted) == {("conditionalwritepreconditionfailed", "store"): 1}


def test_outcomes_are_counted_by_name(counted: InMemoryMetricReader) -> None:
    metrics.count_outcomes({"written": 3, "already_present": 2, "diverged": 0}, "window")
    metrics.count_outcomes({"written": 1})
    assert _points(counted) == {
        ("scenemosaic.outcomes", "written", "window"): 3,
        ("scenemosaic.outcomes", "already_present", "window"): 2,
        ("scenemosaic.outcomes", "written", "object"): 1,
    }
