"""API requests as AWS's documents have them judged: which actions, on what, with which keys."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import pytest

from scenemosaic.policy.uses import USES
from scenemosaic.roots import ManifestUrl, Root
from tests.policy.evaluator import Ask

_MAKES_AN_OBJECT = ("CompleteMultipartUpload", "PutObject")
_LISTINGS = ("ListMultipartUploads", "ListObjectVersions", "ListObjectsV2")
ROLE = {
    "aws:PrincipalAccount": "123456789012",
    "aws:PrincipalIsAWSService": "false",
    "aws:PrincipalType": "AssumedRole",
    "aws:SecureTransport": "true",
}
ANONYMOUS = {
    "aws:PrincipalAccount": "anonymous",
    "aws:PrincipalType": "Anonymous",
    "aws:SecureTransport": "true",
}


@dataclass(frozen=True)
class Sent:
    """One request as the SDK was asked for it."""

    operation: str
    parameters: Mapping[str, Any]

    @property
    def key(self) -> str:
        return str(self.parameters.get("Key", ""))


def asks(sent: Sent, root: Root, manifest: ManifestUrl) -> list[Ask]:
    """Every action that a request needs; a request needs them all."""
    actions = [use.action for use in USES if use.operation == sent.operation]
    assert actions, f"{sent.operation} is sent, and scenemosaic/policy/uses.py does not know it"
    if sent.operation == "DeleteObject":
        wanted = "VersionId" in sent.parameters
        actions = [one for one in actions if one.endswith("Version") == wanted]
    return [_ask(action, sent, root, manifest) for action in actions]


def _ask(action: str, sent: Sent, root: Root, manifest: ManifestUrl) -> Ask:
    given = sent.parameters
    if action.startswith("dynamodb:"):
        table = f"arn:aws:dynamodb:{manifest.region}:123456789012:table/{given['TableName']}"
        return Ask(action, table, ROLE | _leading(sent))
    bucket = f"arn:aws:s3:::{given['Bucket']}"
    if sent.operation in _LISTINGS:
        return Ask(action, bucket, ROLE | {"s3:prefix": given.get("Prefix", "")})
    if action == "s3:ListBucket":  # what is missing is looked for by its own name
        return Ask(action, bucket, ROLE | {"s3:prefix": sent.key})
    if sent.operation == "UploadPartCopy" and action == "s3:GetObject":
        return Ask(action, f"{bucket}/{given['CopySource']['Key']}", ROLE)
    return Ask(action, f"{bucket}/{sent.key}", ROLE | _of_write(sent))


def _leading(sent: Sent) -> dict[str, Any]:
    given = sent.parameters
    if sent.operation == "CreateTable":
        return {}
    if sent.operation == "Query":
        (value,) = given["ExpressionAttributeValues"].values()
        return {"dynamodb:LeadingKeys": [value["S"]]}
    return {"dynamodb:LeadingKeys": [given.get("Item", given.get("Key"))["job_id"]["S"]]}


def _of_write(sent: Sent) -> dict[str, str]:
    given, found = sent.parameters, {}
    if "IfNoneMatch" in given:
        found["s3:if-none-match"] = given["IfNoneMatch"]
    if "IfMatch" in given and sent.operation in _MAKES_AN_OBJECT:
        found["s3:if-match"] = given["IfMatch"]
    makes = sent.operation in _MAKES_AN_OBJECT
    return {**found, "s3:ObjectCreationOperation": "true" if makes else "false"}


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Sent]]:
    """Every request of clients that are made meanwhile, in this process, by botocore's events."""
    seen: list[Sent] = []
    make = boto3.session.Session.client

    def client(self: Any, *arguments: Any, **given: Any) -> Any:
        made = make(self, *arguments, **given)
        made.meta.events.register_first("before-parameter-build.*.*", note)
        return made

    def note(params: Mapping[str, Any], model: Any, **_: Any) -> None:
        seen.append(Sent(model.name, dict(params)))

    with monkeypatch.context() as patch:
        patch.setattr(boto3.session.Session, "client", client)
        yield seen


Judge = Callable[[Sent], bool]
