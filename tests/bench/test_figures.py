"""What the bench makes of its measurements, and which options it takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import orchestration, scale, server
from bench.curves import Curve, edge_of, slope
from bench.measure import Cost
from bench.orchestration import Turn


@given(
    st.floats(0.2, 2.5),
    st.floats(0.01, 100.0),
    st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True),
)
def test_the_exponent_of_a_power_law_is_found(
    exponent: float, factor: float, sizes: list[int]
) -> None:
    sizes = sorted(sizes)
    costs = [factor * size**exponent for size in sizes]
    assert slope(sizes, costs) == pytest.approx(exponent, rel=1e-4)


def test_the_last_step_shows_what_a_fixed_cost_hides() -> None:
    curve = Curve("quadratic", [100, 1000, 10_000], [5.0, 5.0, 500.0])
    assert curve.exponent == pytest.approx(1.0)
    assert curve.last == pytest.approx(2.0)
    assert not curve.is_linear
    assert Curve("linear", [100, 1000], [1.0, 10.0]).is_linear


def test_what_cost_nothing_measurable_has_an_exponent_too() -> None:
    assert slope([100, 1000], [0.0, 0.0]) == 0.0


@pytest.mark.parametrize(("windows", "edge"), [(1, 1), (100, 10), (1000, 31), (100_000, 316)])
def test_a_square_of_windows(windows: int, edge: int) -> None:
    assert edge_of(windows) == edge


def test_orchestration_is_what_the_flow_takes_beyond_the_engine() -> None:
    turns = [
        Turn(Cost(12.0, 20.0, 1), Cost(10.0, 19.0, 1), server_s=2.0),
        Turn(Cost(11.5, 25.0, 1), Cost(10.5, 30.0, 1), server_s=1.0),
    ]
    assert orchestration.wall_share(turns) == pytest.approx(1 / 20)
    assert orchestration.client_ms(turns, 1000) == pytest.approx(1.5)
    assert orchestration.server_ms(turns, 1000) == pytest.approx(1.0)


def test_sizes_are_sorted_and_huge_adds_one() -> None:
    assert scale.options_of([]).sizes == sorted(scale.SIZES)
    assert scale.options_of(["--sizes", "400,100", "--huge"]).sizes == [100, 400, scale.HUGE]


@pytest.mark.parametrize("sizes", ["100", "1,100", "100,100"])
def test_a_curve_needs_two_sizes(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        scale.options_of(["--sizes", sizes])
    assert "two sizes" in capsys.readouterr().err


def test_the_server_is_measured_with_the_settings_for_production() -> None:
    found = server.settings(server.SETTINGS.read_text("utf-8"))
    assert found["PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE"] == "100"
    assert all(name.isupper() and not name.startswith("#") for name in found)
    assert server.settings("# A=1\n\n B=2=3\n") == {"B": "2=3"}
