"""A root and its manifest, each with how it is reached: small, picklable, without a secret."""

from dataclasses import dataclass, field

from scenemosaic.access import ENVIRONMENT, Access


@dataclass(frozen=True, slots=True)
class StorePlace:
    """A root's canonical URI and how it is reached."""

    root: str
    access: Access = ENVIRONMENT


@dataclass(frozen=True, slots=True)
class ManifestPlace:
    """A manifest's URL and how it is reached. A URL given on a command line may hold a password."""

    url: str = field(repr=False)
    access: Access = ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Place:
    """Where the outputs of jobs go, and the rows that prove them."""

    store: StorePlace
    manifest: ManifestPlace
