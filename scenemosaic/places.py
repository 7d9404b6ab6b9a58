"""A root and its manifest, each with how it is reached: small, picklable, without a secret."""

from dataclasses import dataclass, field

from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.roots import check_folder, default_manifest, parse_manifest, parse_root


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


def place_at(root: str, manifest: str | None = None) -> Place:
    """A root reached as the environment says; its default manifest where none is given.

    Raises InputError where one of them cannot be read.
    """
    parsed = parse_root(root)
    check_folder(parsed)
    return Place(StorePlace(parsed.uri), manifest_at(manifest or default_manifest(parsed)))


def manifest_at(url: str) -> ManifestPlace:
    """A manifest reached as the environment says. Raises InputError."""
    return ManifestPlace(parse_manifest(url).url)
