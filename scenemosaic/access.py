"""How a store or manifest is reached where its SDK's environment does not say it all.

An :class:`Access` crosses processes, so it holds no secret: ``credentials`` is a
reference that each process resolves for itself, by what was registered for its kind.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

from scenemosaic.errors import InputError, PermanentStoreError

Resolver = Callable[[str], object]
T = TypeVar("T")
# The end of a message where AWS was not reached at all.
UNREACHED: Final = "; check AWS_ENDPOINT_URL, the region and the network"

_REFERENCE: Final = re.compile(r"([a-z0-9-]+)/([A-Za-z0-9._-]+)")
_ENDPOINT: Final = re.compile(r"https?://[^/@?#\s]+(/[^?#\s]*)?")
_resolvers: dict[str, Resolver] = {}


@dataclass(frozen=True, slots=True)
class Access:
    """Settings of one store or manifest; what is left out is the environment's.

    ``encryption_key`` is a KMS key (S3, Cloud Storage) or an encryption scope (Azure),
    ``storage_class`` an access tier on Azure. Raises InputError for what cannot be one.
    """

    credentials: str | None = None
    endpoint: str | None = None
    region: str | None = None
    encryption_key: str | None = None
    storage_class: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    requester_pays: bool = False
    billing_project: str | None = None

    def __post_init__(self) -> None:
        if self.credentials is not None and not _REFERENCE.fullmatch(self.credentials):
            raise InputError(f"credentials are named kind/name, not {self.credentials!r}")
        if self.endpoint is not None and not _ENDPOINT.fullmatch(self.endpoint):
            # Not repeated: it may hold a password.
            raise InputError("an endpoint is http(s)://host[:port], without user and query")


ENVIRONMENT: Final = Access()


def register(kind: str, resolver: Resolver) -> None:
    """Let ``kind/name`` be resolved by ``resolver(name)``, in this process."""
    _resolvers[kind] = resolver


def credentials_of(access: Access, kind: type[T]) -> T | None:
    """The SDK's own object behind the reference, or None where the environment is meant.

    Raises PermanentStoreError where nothing resolves it, or to something else.
    """
    if access.credentials is None:
        return None
    found = _resolve(access.credentials)
    if not isinstance(found, kind):
        raise PermanentStoreError(
            f"{access.credentials} are credentials of another provider "
            f"({type(found).__name__}, wanted {kind.__name__})"
        )
    return found


@lru_cache(maxsize=32)
def _resolve(reference: str) -> object:
    kind, _, name = reference.partition("/")
    resolver = _resolvers.get(kind)
    if resolver is None:
        raise PermanentStoreError(f"nothing here can resolve the credentials {reference}")
    return resolver(name)
