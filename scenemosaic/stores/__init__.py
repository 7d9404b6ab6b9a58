"""Stores: where objects are written, each exactly once, by condition."""

from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.errors import InputError
from scenemosaic.roots import Root, parse_root
from scenemosaic.stores.port import Store


def open_store(root: str, access: Access = ENVIRONMENT) -> Store:
    """The store of a root's URI or path. Makes no request and writes nothing.

    Raises InputError where the root cannot be read as one, or its kind is not available.
    """
    parsed = parse_root(root)
    if parsed.scheme == "file":
        from scenemosaic.stores.local import LocalStore

        return LocalStore(parsed)
    if parsed.scheme == "s3":
        # boto3 takes a third of a second to import, which a local root need not pay.
        from scenemosaic.stores.s3 import connect

        return connect(parsed, access=access)
    if parsed.scheme == "gs":
        return _gcs(parsed, access)
    return _azure(parsed, access)


def _gcs(root: Root, access: Access) -> Store:
    try:
        from scenemosaic.stores import gcs
    except ModuleNotFoundError as error:
        raise _not_installed(root, "gcs", error) from error
    return gcs.connect(root, access=access)


def _azure(root: Root, access: Access) -> Store:
    try:
        from scenemosaic.stores import azure
    except ModuleNotFoundError as error:
        raise _not_installed(root, "azure", error) from error
    return azure.connect(root, access=access)


def _not_installed(root: Root, extra: str, error: ModuleNotFoundError) -> InputError:
    return InputError(
        f"{root.uri}: {error.name} is not installed, which {root.scheme}:// roots need: "
        f"pip install 'scenemosaic[{extra}]'"
    )
