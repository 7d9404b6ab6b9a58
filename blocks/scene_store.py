"""The block that says where outputs go, how the store is reached, and what it demands."""

from typing import Self

from prefect.blocks.core import Block
from pydantic import Field, field_validator, model_validator

from blocks.credentials import AwsCredentials, AzureCredentials, GcpCredentials, reference
from blocks.tile_manifest import TileManifest
from blocks.validation import QUIET, as_value_error
from scenemosaic.access import Access
from scenemosaic.places import ManifestPlace, Place, StorePlace
from scenemosaic.roots import default_manifest, parse_root

_CREDENTIALS = "A saved block. Left out: the environment's of whoever runs the flow."
# What each kind of store has; the rest is refused rather than silently left out.
_OFFERED = {
    "file": set[str](),
    "s3": {
        "aws_credentials",
        "endpoint",
        "region",
        "encryption_key",
        "storage_class",
        "tags",
        "requester_pays",
    },
    "gs": {"gcp_credentials", "endpoint", "encryption_key", "storage_class", "billing_project"},
    "az": {"azure_credentials", "encryption_key", "storage_class", "tags"},
}


class SceneStore(Block):
    """A root with its credentials, its options, and the manifest that belongs to it."""

    _block_type_name = "Scene Store"
    _block_type_slug = "scene-store"
    _description = "Where scenemosaic writes tiles and mosaics, and how the store is reached."
    model_config = QUIET

    root: str = Field(
        title="Root",
        description="A folder, or a bucket or container with a prefix.",
        examples=["s3://bucket/prefix", "gs://bucket/prefix", "az://container/prefix", "/data/out"],
    )
    aws_credentials: AwsCredentials | None = Field(
        default=None, title="AWS credentials", description=_CREDENTIALS
    )
    gcp_credentials: GcpCredentials | None = Field(
        default=None, title="Google Cloud credentials", description=_CREDENTIALS
    )
    azure_credentials: AzureCredentials | None = Field(
        default=None, title="Azure credentials", description=_CREDENTIALS
    )
    manifest: TileManifest | None = Field(
        default=None,
        title="Manifest",
        description="Left out: ROOT/manifest.db for a folder, DynamoDB for S3.",
    )
    endpoint: str | None = Field(
        default=None,
        title="Endpoint",
        description="The service's address, where it is not the provider's own.",
        examples=["https://minio.example.org:9000"],
    )
    region: str | None = Field(default=None, title="Region", examples=["eu-central-1"])
    encryption_key: str | None = Field(
        default=None,
        title="Encryption key",
        description="KMS key on S3 and Cloud Storage, encryption scope on Azure.",
    )
    storage_class: str | None = Field(
        default=None,
        title="Storage class",
        description="Of new objects; the access tier on Azure.",
        examples=["STANDARD_IA", "NEARLINE", "Cool"],
    )
    tags: dict[str, str] = Field(
        default_factory=dict, title="Tags", description="Set on every new object (S3, Azure)."
    )
    requester_pays: bool = Field(
        default=False, title="Requester pays", description="S3: this account pays for requests."
    )
    billing_project: str | None = Field(
        default=None,
        title="Billing project",
        description="Cloud Storage: the project that pays where the bucket's requester pays.",
    )

    @field_validator("root")
    @classmethod
    def _readable(cls, value: str) -> str:
        with as_value_error():
            parse_root(value)
        return value

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        scheme = parse_root(self.root).scheme
        wrong = sorted(
            name
            for name in set[str]().union(*_OFFERED.values()) - _OFFERED[scheme]
            if getattr(self, name)
        )
        if wrong:
            raise ValueError(f"a {scheme}:// root has no {', '.join(wrong)}; leave it out")
        with as_value_error():
            self._access(None)
            if self.manifest is None:
                default_manifest(parse_root(self.root))
        return self

    def spec(self) -> Place:
        """Root and manifest with how each is reached, without a secret. Raises InputError."""
        root = parse_root(self.root)
        access = self._access(
            reference(self.aws_credentials or self.gcp_credentials or self.azure_credentials)
        )
        if self.manifest is not None:
            return Place(StorePlace(root.uri, access), self.manifest.spec())
        # The root's own account keeps its default manifest.
        rows = Access(credentials=access.credentials, region=access.region)
        is_local = root.scheme == "file"
        manifest = ManifestPlace(default_manifest(root), Access() if is_local else rows)
        return Place(StorePlace(root.uri, access), manifest)

    def _access(self, credentials: str | None) -> Access:
        return Access(
            credentials=credentials,
            endpoint=self.endpoint,
            region=self.region,
            encryption_key=self.encryption_key,
            storage_class=self.storage_class,
            tags=tuple(sorted(self.tags.items())),
            requester_pays=self.requester_pays,
            billing_project=self.billing_project,
        )
