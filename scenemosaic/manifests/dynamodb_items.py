"""Rows as DynamoDB items. Numbers are exact; what is not known is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from scenemosaic.manifests.packing import PARTITION, Column, pack, unpack
from scenemosaic.manifests.port import Outline, Row

Item = dict[str, Any]
OUTLINE = tuple(field.name for field in fields(Outline))


def item_of(row: Row) -> Item:
    return {name: _attribute(value) for name, value in pack(row).items() if value is not None}


def _attribute(value: Column) -> dict[str, Any]:
    if isinstance(value, int):
        return {"N": str(value)}
    return {"B": value} if isinstance(value, bytes) else {"S": value}


def row_of(item: Mapping[str, Mapping[str, Any]]) -> Row:
    return unpack({name: _value(attribute) for name, attribute in item.items()})


def outline_of(item: Mapping[str, Mapping[str, Any]]) -> Outline:
    """What there is of a row in an item of :data:`OUTLINE`."""
    values: dict[str, Any] = {name: _value(item.get(name, {})) for name in OUTLINE}
    return Outline(**values)


def only(names: Sequence[str]) -> dict[str, Any]:
    """What a query asks for, so that no more of its items is sent; their keys may be named #k."""
    marks = {f"#{number}": name for number, name in enumerate(names)}
    return {
        "ProjectionExpression": ", ".join(marks),
        "ExpressionAttributeNames": {**marks, "#k": PARTITION},
    }


def _value(attribute: Mapping[str, Any]) -> Column:
    if "N" in attribute:
        number = str(attribute["N"])
        return int(number) if number.lstrip("-").isdecimal() else number
    value = attribute.get("B", attribute.get("S"))
    return value if isinstance(value, str | bytes) else None


def table_request(table: str) -> dict[str, Any]:
    """The CreateTable of a table that holds rows as items."""
    return {
        "TableName": table,
        "KeySchema": [
            {"AttributeName": PARTITION, "KeyType": "HASH"},
            {"AttributeName": "window", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": PARTITION, "AttributeType": "S"},
            {"AttributeName": "window", "AttributeType": "S"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
