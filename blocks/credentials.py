"""The credential blocks of other packages that ours nest, where they are installed."""

import importlib
from typing import Any

from prefect.blocks.core import Block
from prefect_aws import AwsCredentials

from scenemosaic.errors import InputError


def _installed(package: str, name: str) -> Any:
    """The block class, or None's where its package is missing: then its field takes nothing."""
    try:
        return getattr(importlib.import_module(package), name)
    except ModuleNotFoundError:
        return type(None)


AzureCredentials: Any = _installed("prefect_azure", "AzureBlobStorageCredentials")
GcpCredentials: Any = _installed("prefect_gcp", "GcpCredentials")

__all__ = ["AwsCredentials", "AzureCredentials", "GcpCredentials", "reference"]


def reference(block: Block | None) -> str | None:
    """``slug/name`` of a saved block, by which every process loads it for itself.

    Raises InputError where it was never saved: a secret must not travel with a spec.
    """
    if block is None:
        return None
    slug, name = block.get_block_type_slug(), block._block_document_name
    if not name or block._is_anonymous:
        raise InputError(f"save the {slug} block under a name of its own first, then nest it")
    return f"{slug}/{name}"
