"""On what the batches of windows run: this process's threads, or a cluster's processes.

An engine is no part of a recipe: it changes neither pixels nor the job ID.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import IPv6Address
from typing import Final, Literal

from scenemosaic.errors import InputError

EngineName = Literal["threads", "dask", "ray"]
# What an engine needs installed, and how an address of its scheduler begins.
_MODULES: Final[Mapping[EngineName, tuple[str, ...]]] = {
    "threads": (),
    "dask": ("prefect_dask", "distributed"),
    "ray": ("prefect_ray", "ray"),
}
_SCHEMES: Final[Mapping[EngineName, tuple[str, ...]]] = {
    "threads": (),
    "dask": ("tcp", "tls"),
    "ray": ("ray",),
}
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_ADDRESS: Final = re.compile(
    r"\w+://(?:\[(?P<ipv6>[^\]/@\s]+)\]|(?P<host>[^/@?#:\[\]\s]+)):(?P<port>[0-9]{1,5})"
)
_MOST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine, and the address of a cluster that runs already (None: one of this run's own).

    Raises InputError where the address is none of this engine's, or the engine is not installed.
    """

    name: EngineName = "threads"
    address: str | None = None

    def __post_init__(self) -> None:
        _ = self.endpoint
        if not all(map(find_spec, _MODULES[self.name])):
            raise InputError(
                f"the engine {self.name} is not installed: pip install 'scenemosaic[{self.name}]'"
            )

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """Host and port of the address; an IPv6 host has no brackets here."""
        return None if self.address is None else _endpoint(self.name, self.address)

    @property
    def crosses(self) -> bool:
        """Whether batches leave this process: a callback cannot follow them, a value comes back."""
        return self.name != "threads"


def _endpoint(name: EngineName, address: str) -> tuple[str, int]:
    """The errors do not repeat the address: it may hold a password."""
    schemes = _SCHEMES[name]
    if not schemes:
        raise InputError("threads have no address: leave --engine-address out")
    form = f"the address of a {name} cluster is " + " or ".join(
        f"{scheme}://host:port" for scheme in schemes
    )
    scheme = _SCHEME.match(address)
    if scheme is not None and scheme[1] not in schemes:
        raise InputError(f"{form}, not {scheme[1]}://")
    found = _ADDRESS.fullmatch(address)
    if scheme is None or found is None or not 0 < int(found["port"]) <= _MOST_PORT:
        raise InputError(f"{form}, without a user, and an IPv6 host stands in brackets")
    if found["ipv6"] is not None and not _is_ipv6(found["ipv6"]):
        raise InputError(f"{form}; what stands in brackets is no IPv6 address")
    return found["ipv6"] or found["host"], int(found["port"])


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


THREADS: Final = Engine()
