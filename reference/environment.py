"""Environment variables that are read."""

from typing import Final

from flows.server import alive
from reference.markdown import code, table
from reference.scanned import described, spelled
from scenemosaic.claiming.claims import ClaimSettings

# flows and the temporary server tell each other by it; nobody sets it.
INTERNAL: Final = {"SCENEMOSAIC_TEMPORARY_API_URL"}
OWN: Final = {
    "SCENEMOSAIC_OPERATOR": "Who has it done, for the audit log and the ledger; "
    "left out, `user@host`.",
    "SCENEMOSAIC_CLAIM_LEASE_S": "Seconds for which the holder of an assembly's claim may be "
    f"silent ({ClaimSettings().lease_s:g}).",
    "SCENEMOSAIC_CALL_DEADLINE_S": "Seconds for one call of a store, a manifest or a source, "
    "instead of each one's own.",
    "SCENEMOSAIC_SILENCE_S": "The default of `--silence`: seconds without a sign of life, after "
    f"which the automation calls a run crashed ({alive.SILENCE_S}).",
}
SDKS: Final = {
    "AWS_PROFILE": "Any way in which boto3 finds credentials will do.",
    "AWS_REGION": "The region; before `AWS_DEFAULT_REGION`.",
    "AWS_DEFAULT_REGION": "The region.",
    "AWS_CONFIG_FILE": "Where boto3's configuration is.",
    "AWS_ENDPOINT_URL": "The endpoint of every service, where it is not AWS's own.",
    "AWS_ENDPOINT_URL_S3": "The endpoint of S3 alone; it reaches GDAL's readers, too.",
    "AWS_ENDPOINT_URL_DYNAMODB": "The endpoint of DynamoDB alone.",
    "AWS_CA_BUNDLE": "Certificates for S3 and DynamoDB.",
    "AWS_NO_SIGN_REQUEST": "`YES`: sources are read without credentials.",
    "AWS_REQUEST_PAYER": "`requester`: this account pays for reading sources.",
    "AZURE_STORAGE_CONNECTION_STRING": "Account, key and endpoint in one.",
    "AZURE_STORAGE_ACCOUNT": "The account, with one of the two below or an identity.",
    "AZURE_STORAGE_ACCESS_KEY": "The account's key.",
    "AZURE_STORAGE_SAS_TOKEN": "A shared access signature.",
    "STORAGE_EMULATOR_HOST": "An emulator of Cloud Storage.",
    "SSL_CERT_FILE": "Certificates for all other servers.",
    "XDG_CACHE_HOME": "Where hashes of local sources are kept.",
    "PREFECT_API_URL": "The Prefect server; without it `process` starts one for itself.",
    "PREFECT_HOME": "Where a Prefect server that `serve` starts keeps its records.",
}

HEAD = """# Environment variables

Made from the code: a name that the code reads and this page lacks stops the documents' build.
A command reads them where it runs; a deployed flow where its worker runs.
"""


def page() -> str:
    """The page in Markdown."""
    own = described(spelled(r"SCENEMOSAIC_[A-Z_]+") - INTERNAL, OWN, "environment.OWN")
    sdks = described(spelled("|".join(SDKS)), SDKS, "environment.SDKS")
    heads = ("variable", "what")
    return "\n".join(
        [
            HEAD,
            "## Of scenemosaic",
            *table(heads, ((code(name), what) for name, what in own.items())),
            "## Of SDKs, GDAL and Prefect",
            "",
            "These reach the SDKs and GDAL alike. Other variables of theirs work as they document.",
            *table(heads, ((code(name), what) for name, what in sdks.items())),
        ]
    )
