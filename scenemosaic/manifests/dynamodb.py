"""The manifest in a DynamoDB table: partition key ``job_id``, sort key ``window``."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.errors import MissingSchema, TransientStoreError
from scenemosaic.keys import check_probe_partition
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.machine.read_ahead import in_turn
from scenemosaic.manifests.dynamodb_client import open_client
from scenemosaic.manifests.dynamodb_conditions import MOST_TIMES, absent, at_revision
from scenemosaic.manifests.dynamodb_errors import SDK_ERRORS, Refused, classify, is_throttled
from scenemosaic.manifests.dynamodb_items import (
    OUTLINE,
    Item,
    item_of,
    only,
    outline_of,
    row_of,
    table_request,
)
from scenemosaic.manifests.packing import PARTITION, fitted
from scenemosaic.manifests.port import Existing, Inserted, Outline, Row, Stale, Updated
from scenemosaic.manifests.write_units import Pace, units_of
from scenemosaic.waiting.deadlines import Deadlines, within

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Its answers are small and soon there.
DEADLINES = Deadlines(silence_s=30.0)
_TABLE_S = 180.0
_TABLE_POLL_S = 0.5
_SHARDS_AT_ONCE = 8
# A page is 1 MB at most, a shard of usual rows about 8 of them.
_SHARDS_OF_ROWS_AT_ONCE = 4
_PAGES_AHEAD = 8


class DynamoManifest:
    """Rows as items of one table; see the port for the contract.

    A ``region`` of None is the environment's, as is what ``access`` leaves out.
    DynamoDB reads, and bills, whole items, whatever is projected: counting a
    job's windows costs as much as reading its rows. Rows wait where a partition would get more
    than it takes (:mod:`scenemosaic.manifests.write_units`). Safe in many threads and after a
    fork; not to be pickled.
    """

    def __init__(
        self,
        table: str,
        region: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        deadlines: Deadlines = DEADLINES,
        access: Access = ENVIRONMENT,
    ) -> None:
        self.table, self._region = table, region
        self.url = f"dynamodb://{table}" + (f"?region={region}" if region else "")
        self._sleep, self._clock, self._deadlines = sleep, clock, deadlines
        self._access = access
        self._pace = Pace(clock, sleep)
        self._lock = Lock()
        self._opened: DynamoDBClient | None = None
        self._pid = os.getpid()

    def ensure(self) -> bool:
        """Make the table where it is missing and wait until it serves; True where it was made.

        Needs dynamodb:CreateTable only where the table is missing.
        """
        if self.ready():
            return False
        made = self._create()
        give_up = self._clock() + _TABLE_S
        while not self.ready():
            if self._clock() > give_up:
                raise TransientStoreError(
                    f"DynamoDB table {self.table} was not active within {_TABLE_S:g} s"
                )
            self._sleep(_TABLE_POLL_S)
        return made

    def ready(self) -> bool:
        """Whether the table serves reads: one GetItem of a key that no row has."""
        try:
            self._item("scenemosaic", "ready")
        except MissingSchema:
            return False
        return True

    def insert(self, row: Row) -> Inserted | Existing:
        return self._insert(row, absent())

    def insert_at_length(self, row: Row) -> Inserted | Existing:
        check_probe_partition(row.partition)
        return self._insert(row, absent(MOST_TIMES))

    def _insert(self, row: Row, condition: Mapping[str, Any]) -> Inserted | Existing:
        existing = self._put(fitted(row), condition)
        if existing is None:
            return Inserted()
        found = self._refused_by(existing, row)
        if found is None:
            raise TransientStoreError(
                f"row {row.window} was refused by a row that then was not there; try again"
            )
        return Existing(found)

    def get(self, partition: str, window: str) -> Row | None:
        item = self._item(partition, window)
        return row_of(item) if item else None

    def replace(self, row: Row, revision: int) -> Updated | Stale:
        new = dataclasses.replace(fitted(row), revision=revision + 1)
        existing = self._put(new, at_revision(revision))
        return Updated(new) if existing is None else Stale(self._refused_by(existing, row))

    def windows(self, partitions: Sequence[str]) -> Iterator[str]:
        """The port's contract; shards are read at once, and billed in full."""
        if len(partitions) < 2:
            for partition in partitions:
                yield from self._names(partition)
            return
        whole = in_parallel(lambda name: list(self._names(name)), partitions, _SHARDS_AT_ONCE)
        for names in whole:
            yield from names

    def outlines(self, partition: str) -> Iterator[Outline]:
        pages = self._pages(partition, only(OUTLINE))
        return (outline_of(item) for page in pages for item in page)

    def rows(self, partitions: Sequence[str]) -> Iterator[Row]:
        """The port's contract; of the shards that are read at once some pages are held."""
        pages = (self._pages(partition, {}) for partition in partitions)
        for page in in_turn(pages, _SHARDS_OF_ROWS_AT_ONCE, _PAGES_AHEAD):
            yield from map(row_of, page)

    def delete_probe(self, partition: str, window: str) -> None:
        key = {PARTITION: {"S": check_probe_partition(partition)}, "window": {"S": window}}
        with contextlib.suppress(Refused):
            self._call(
                "DeleteItem",
                window,
                lambda client: client.delete_item(
                    TableName=self.table,
                    Key=key,
                    ConditionExpression="attribute_exists(#k)",
                    ExpressionAttributeNames={"#k": PARTITION},
                ),
            )

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _names(self, partition: str) -> Iterator[str]:
        pages = self._pages(partition, only(("window",)))
        return (str(item["window"]["S"]) for page in pages for item in page)

    def _pages(self, partition: str, more: Mapping[str, Any]) -> Iterator[Sequence[Item]]:
        request: dict[str, Any] = {
            "TableName": self.table,
            "ConsistentRead": True,
            "KeyConditionExpression": "#k = :k",
            "ExpressionAttributeNames": {"#k": PARTITION},
            "ExpressionAttributeValues": {":k": {"S": partition}},
            **more,
        }
        while True:
            page = self._call("Query", partition, lambda client: client.query(**request))
            yield page["Items"]
            if not page.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _item(self, partition: str, window: str) -> Item | None:
        key = {PARTITION: {"S": partition}, "window": {"S": window}}
        answer: Mapping[str, Item] = self._call(
            "GetItem",
            f"{partition}/{window}",
            lambda client: client.get_item(TableName=self.table, Key=key, ConsistentRead=True),
        )
        return answer.get("Item")

    def _put(self, row: Row, condition: Mapping[str, Any]) -> Item | None:
        """One conditional PutItem: None where it was written, else the item that refused it.

        The item is empty where the service did not send it along.
        """
        request: dict[str, Any] = {
            "TableName": self.table,
            "Item": item_of(row),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **condition,
        }
        self._pace.take(row.partition, units_of(row))
        try:
            key = f"{row.partition}/{row.window}"
            self._call("PutItem", key, lambda client: client.put_item(**request))
        except Refused as refusal:
            return refusal.item
        except TransientStoreError as error:
            if is_throttled(error.__cause__):
                self._pace.throttled(row.partition)
            raise
        return None

    def _refused_by(self, item: Item, row: Row) -> Row | None:
        return row_of(item) if item else self.get(row.partition, row.window)

    def _create(self) -> bool:
        request = table_request(self.table)
        try:
            self._call("CreateTable", "", lambda client: client.create_table(**request))
        except Refused:
            return False
        return True

    def _call(self, operation: str, key: str, send: "Callable[[DynamoDBClient], Any]") -> Any:
        """One request, sent once. Raises Refused where its condition does not hold."""
        subject = self._subject(key)
        with within(self._deadlines) as ending:
            try:
                return send(self._client)
            except SDK_ERRORS as error:
                if ending.over:
                    raise TransientStoreError(
                        f"DynamoDB {operation} on {subject}: {ending}"
                    ) from error
                raise classify(operation, subject, error) from error

    def _subject(self, key: str) -> str:
        return f"table {self.table}" + (f" row {key}" if key else "")

    @property
    def _client(self) -> "DynamoDBClient":
        with self._lock:
            if self._opened is None or self._pid != os.getpid():
                # A client from before a fork shares its connections with the parent: left alone.
                self._pid = os.getpid()
                self._opened = open_client(self._region, self._access, self._deadlines)
            return self._opened
