"""What may be shown, logged and kept in Prefect's records: URLs without secrets."""

from scenemosaic.errors import SceneMosaicError
from scenemosaic.sources.locations import canonical_location, public_uri


def public_manifest(url: str) -> str:
    """A manifest's URL without user, password and query, except a DynamoDB table's region."""
    scheme, mark, rest = url.partition("://")
    if scheme == "dynamodb":
        return url
    place = rest.partition("?")[0]
    host, slash, path = place.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def public_source(source: str) -> str:
    """A source's location without a signature; empty where it is none."""
    try:
        return public_uri(canonical_location(source))
    except SceneMosaicError:
        return ""
