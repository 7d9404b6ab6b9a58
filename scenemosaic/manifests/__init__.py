"""Manifests: proof of what this pipeline wrote. :func:`open_manifest` opens one by URL."""

import os

from scenemosaic.access import ENVIRONMENT, Access, credentials_of
from scenemosaic.manifests.port import Manifest
from scenemosaic.waiting.deadlines import deadlines_from


def open_manifest(url: str, access: Access = ENVIRONMENT) -> Manifest:
    """The manifest at ``url``; connects to nothing and makes nothing yet.

    InputError where the scheme is unknown or the URL is malformed. Each SDK is
    imported only where it is used.
    """
    # Not above: roots imports the store port, and the commit procedure both ports.
    from scenemosaic.roots import parse_manifest

    parsed = parse_manifest(url)
    if parsed.kind == "dynamodb":
        from scenemosaic.manifests.dynamodb import DEADLINES, DynamoManifest

        deadlines = deadlines_from(os.environ, DEADLINES)
        return DynamoManifest(parsed.table, parsed.region, deadlines=deadlines, access=access)
    from scenemosaic.manifests.sql import SqlManifest

    return SqlManifest(parsed.url, password=credentials_of(access, str))
