"""How a process comes to the credentials that a spec names: by loading the saved block."""

from collections.abc import Mapping
from typing import Any

from prefect.blocks.core import Block

from scenemosaic.access import register
from scenemosaic.errors import PermanentStoreError


def _aws(name: str) -> object:
    from prefect_aws import AwsCredentials

    return _loaded(AwsCredentials, name).get_boto3_session()


def _gcp(name: str) -> object:
    from prefect_gcp import GcpCredentials

    return _loaded(GcpCredentials, name).get_credentials_from_service_account()


def _azure(name: str) -> Mapping[str, str]:
    """As the environment's variables would say it."""
    from prefect_azure import AzureBlobStorageCredentials

    block = _loaded(AzureBlobStorageCredentials, name)
    if block.connection_string is not None:
        said = block.connection_string.get_secret_value()
        return {"AZURE_STORAGE_CONNECTION_STRING": said}
    raise PermanentStoreError(
        f"azure-blob-storage-credentials/{name} hold no connection string, which is needed here"
    )


def _secret(name: str) -> object:
    from prefect.blocks.system import Secret

    return _loaded(Secret, name).get()


def _loaded(kind: type[Block], name: str) -> Any:
    try:
        return kind.load(name, _sync=True)  # type: ignore[call-arg]  # tasks run in threads
    except ValueError as error:
        raise PermanentStoreError(
            f"{kind.get_block_type_slug()}/{name} cannot be loaded from Prefect: {error}"
        ) from error


register("aws-credentials", _aws)
register("gcp-credentials", _gcp)
register("azure-blob-storage-credentials", _azure)
register("secret", _secret)
