"""What a STAC item says of a scene, as a form has it: a deployment's run is told by a backfill.

No postponed annotations in here: Prefect reads them as they stand.
"""

from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from blocks.forms import Group
from blocks.validation import QUIET
from scenemosaic.plans.item_facts import ItemFacts


class ItemFields(BaseModel):
    """What the STAC item of the one source says of it."""

    model_config = QUIET | {"title": "STAC item"}

    item_id: str = Field(
        min_length=1,
        max_length=200,
        title="ID",
        description="The item's ID.",
        examples=["S2A_20240501"],
    )
    taken: str | None = Field(
        default=None,
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,15}Z$",
        title="Taken",
        description="When the scene was taken, or the beginning of that; UTC.",
        examples=["2024-05-01T10:20:30Z"],
    )
    is_span: bool = Field(
        default=False, title="A span", description="Whether that is the beginning of a span."
    )
    checksum: str | None = Field(
        default=None,
        max_length=300,
        title="Checksum",
        description="The asset's file:checksum, a multihash in hexadecimal.",
        examples=["1220" + "0" * 64],
    )
    size_bytes: int | None = Field(
        default=None,
        ge=0,
        le=1 << 53,
        title="Size",
        description="The asset's file:size.",
        examples=[1000],
    )

    @classmethod
    def of(cls, facts: ItemFacts) -> Self:
        """The fields of what an item says; those of ``facts`` have the same names."""
        return cls(**{name: getattr(facts, name) for name in cls.model_fields})

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)

    def facts(self) -> ItemFacts:
        return ItemFacts(**self.model_dump())


Item = Annotated[ItemFields | None, Group()]
