"""Manifests: proof of what this pipeline wrote. :func:`open_manifest` opens one by URL."""

from scenemosaic.manifests.port import Manifest


def open_manifest(url: str) -> Manifest:
    """The manifest at ``url``; connects to nothing and makes nothing yet.

    InputError where the scheme is unknown or the URL is malformed. Each SDK is
    imported only where it is used.
    """
    # Not above: roots imports the store port, and the commit procedure both ports.
    from scenemosaic.roots import parse_manifest

    parsed = parse_manifest(url)
    if parsed.kind == "dynamodb":
        from scenemosaic.manifests.dynamodb import DynamoManifest

        return DynamoManifest(parsed.table, parsed.region)
    from scenemosaic.manifests.sql import SqlManifest

    return SqlManifest(parsed.url)
