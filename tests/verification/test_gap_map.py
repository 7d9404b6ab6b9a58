"""The gap map: each window where it belongs, in its state's colour."""

import imagecodecs
import numpy as np

from flows.shown import gap_map
from scenemosaic.grids.grid import window_name


def _states(rows: int, cols: int) -> dict[str, str]:
    return {window_name(row, col): "sound" for row in range(rows) for col in range(cols)}


def test_a_grid() -> None:
    states = _states(2, 3) | {"0000_0002": "missing", "0001_0000": "damaged"}
    assert gap_map.is_small(states)
    lines = gap_map.grid(states).splitlines()
    assert lines[:4] == ["```", "🟩🟩🟥", "🟧🟩🟩", "```"]
    assert lines[-1] == "🟩 4 sound · 🟥 1 missing · 🟧 1 damaged"


def test_a_state_that_nobody_knows_and_a_window_that_is_not_named() -> None:
    states = {"0000_0000": "odd", "0001_0001": "waived"}
    assert gap_map.grid(states).splitlines()[1:3] == ["⬛　", "　🟦"]
    assert gap_map.legend(states) == "🟦 1 waived · ⬛ 1 odd"


def test_a_picture() -> None:
    states = _states(40, 80) | {"0039_0000": "missing"}
    assert not gap_map.is_small(states)
    pixels = imagecodecs.png_decode(gap_map.picture(states))
    assert pixels.shape == (320, 640, 3)
    colours = {tuple(colour) for colour in pixels[:312].reshape(-1, 3).tolist()}
    assert colours == {gap_map.STYLES["sound"][0], (255, 255, 255)}
    assert tuple(pixels[-5, 3]) == gap_map.STYLES["missing"][0]
    assert np.array_equal(pixels[-5, 11], gap_map.STYLES["sound"][0])


def test_a_picture_of_very_many_windows_has_a_pixel_for_each() -> None:
    states = {window_name(0, 0): "sound", window_name(12_345, 7): "missing"}
    assert imagecodecs.png_decode(gap_map.picture(states)).shape == (12_346, 8, 3)
