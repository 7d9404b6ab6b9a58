"""How a process comes to the credentials that a spec names: by loading the saved block."""

from collections.abc import Mapping

from scenemosaic.access import register
from scenemosaic.errors import InputError
from tasks.loading import load


def _aws(name: str) -> object:
    from prefect_aws import AwsCredentials

    return load(AwsCredentials, name).get_boto3_session()


def _gcp(name: str) -> object:
    from prefect_gcp import GcpCredentials

    return load(GcpCredentials, name).get_credentials_from_service_account()


def _azure(name: str) -> Mapping[str, str]:
    """As the environment's variables would say it."""
    from prefect_azure import AzureBlobStorageCredentials

    block = load(AzureBlobStorageCredentials, name)
    if block.connection_string is not None:
        said = block.connection_string.get_secret_value()
        return {"AZURE_STORAGE_CONNECTION_STRING": said}
    raise InputError(
        f"azure-blob-storage-credentials/{name} hold no connection string, which is needed here"
    )


def _secret(name: str) -> object:
    from prefect.blocks.system import Secret

    return load(Secret, name).get()


register("aws-credentials", _aws)
register("gcp-credentials", _gcp)
register("azure-blob-storage-credentials", _azure)
register("secret", _secret)
