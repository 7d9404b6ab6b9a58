"""The block that says where a manifest lies and how it is reached."""

from typing import Self

from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from pydantic import Field, field_validator, model_validator

from blocks.credentials import AwsCredentials, reference
from blocks.validation import QUIET, as_value_error
from scenemosaic.access import Access
from scenemosaic.places import ManifestPlace
from scenemosaic.roots import holds_password, parse_manifest


class TileManifest(Block):
    """Where rows go that prove what was written: SQLite, PostgreSQL or DynamoDB."""

    _block_type_name = "Tile Manifest"
    _block_type_slug = "tile-manifest"
    _description = "Where scenemosaic keeps the rows that prove its tiles."
    model_config = QUIET

    url: str = Field(
        title="URL",
        description="Without a password: that goes into a Secret block below.",
        examples=["sqlite:////data/manifest.db", "dynamodb://scenemosaic-manifest"],
    )
    password: Secret | None = Field(  # type: ignore[type-arg]  # of any kind
        default=None, title="Password", description="PostgreSQL's, as a saved Secret block."
    )
    credentials: AwsCredentials | None = Field(
        default=None,
        title="AWS credentials",
        description="For DynamoDB. Left out: the environment's of whoever runs the flow.",
    )
    endpoint: str | None = Field(
        default=None,
        title="Endpoint",
        description="DynamoDB's, where it is not AWS's own.",
        examples=["http://127.0.0.1:8000"],
    )

    @field_validator("url")
    @classmethod
    def _readable(cls, value: str) -> str:
        with as_value_error():
            parse_manifest(value)
        if holds_password(value):
            raise ValueError("leave the password out of the URL: save it as a Secret block")
        return value

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        is_dynamodb = self.url.lower().startswith("dynamodb:")
        if not is_dynamodb and (self.credentials or self.endpoint):
            raise ValueError("AWS credentials and an endpoint are DynamoDB's; leave them out")
        if self.password and not self.url.lower().startswith("postgresql"):
            raise ValueError("only PostgreSQL takes a password; leave it out")
        with as_value_error():
            Access(endpoint=self.endpoint)
        return self

    def spec(self) -> ManifestPlace:
        """The URL and how it is reached, without a secret. Raises InputError."""
        named = reference(self.credentials) or reference(self.password)
        return ManifestPlace(
            parse_manifest(self.url).url, Access(credentials=named, endpoint=self.endpoint)
        )
