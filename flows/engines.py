"""On what the batches of windows run: this process's threads, or a cluster's processes.

An engine is no part of a recipe: it changes neither pixels nor the job ID.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal

from scenemosaic.errors import InputError

EngineName = Literal["threads", "dask", "ray"]
# What an engine needs installed, and how an address of its scheduler looks.
_MODULES: Final[Mapping[EngineName, tuple[str, ...]]] = {
    "threads": (),
    "dask": ("prefect_dask", "distributed"),
    "ray": ("prefect_ray", "ray"),
}
_ADDRESSES: Final[Mapping[EngineName, tuple[str, re.Pattern[str]]]] = {
    "dask": ("tcp://host:port or tls://host:port", re.compile(r"(tcp|tls)://[^/@\s]+:[0-9]+")),
    "ray": ("ray://host:port", re.compile(r"ray://[^/@\s]+:[0-9]+")),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine, and the address of a cluster that runs already (None: one of this run's own).

    Raises InputError where the address is none of this engine's, or the engine is not installed.
    """

    name: EngineName = "threads"
    address: str | None = None

    def __post_init__(self) -> None:
        if self.address is not None:
            self._check_address(self.address)
        if not all(map(find_spec, _MODULES[self.name])):
            raise InputError(
                f"the engine {self.name} is not installed: pip install 'scenemosaic[{self.name}]'"
            )

    def _check_address(self, address: str) -> None:
        if self.name not in _ADDRESSES:
            raise InputError("threads have no address: leave --engine-address out")
        form, pattern = _ADDRESSES[self.name]
        if not pattern.fullmatch(address):
            # Not repeated: it may hold a password.
            raise InputError(f"the address of a {self.name} cluster is {form}, without a user")

    @property
    def crosses(self) -> bool:
        """Whether batches leave this process: a callback cannot follow them, a value comes back."""
        return self.name != "threads"


THREADS: Final = Engine()
