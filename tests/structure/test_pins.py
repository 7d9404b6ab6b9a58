"""The pinned versions can be installed by every Python that the project names."""

import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def test_each_pin_takes_the_oldest_python_of_ours() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    wanted = {
        name: one.metadata["Requires-Python"]
        for one in distributions()
        if (name := one.metadata["Name"].lower().replace("_", "-")) in pinned
        # Asked first: once importlib_metadata is loaded, reading what is missing is a KeyError.
        and "Requires-Python" in one.metadata
    }
    assert len(wanted) > 50
    assert {name: said for name, said in wanted.items() if oldest not in SpecifierSet(said)} == {}
