"""The bucket policy and the lifecycle rules of an S3 root. Pure."""

from collections.abc import Mapping

from scenemosaic.policy.documents import Condition, Document, Statement, document
from scenemosaic.policy.needs import KEPT, PRIVATE
from scenemosaic.policy.s3 import bucket_arn, object_arn
from scenemosaic.roots import Root

ABORT_DAYS = 7

PLAIN_WRITE: Condition = {
    "Null": {"s3:if-none-match": "true", "s3:if-match": "true"},
    "Bool": {"s3:ObjectCreationOperation": "true"},
}
_LISTINGS = ("s3:ListBucket", "s3:ListBucketMultipartUploads", "s3:ListBucketVersions")
_DELETIONS = ("s3:DeleteObject", "s3:DeleteObjectVersion")


def bucket_policy(root: Root, account: str | None = None, partition: str = "aws") -> Document:
    """What nobody may do in the bucket, whatever else allows it: denials only.

    With ``account`` the private keys are closed to every other account, too, and not
    only to anonymous readers.
    """
    bucket = bucket_arn(root, partition)
    below = object_arn(root, "*", partition)
    return document(
        [
            _deny("DenyPlainHttp", ("s3:*",), (bucket, below),
                  {"Bool": {"aws:SecureTransport": "false"}}),
            _deny("DenyUnconditionalWrites", ("s3:PutObject",), (below,), PLAIN_WRITE),
            _deny("DenyDeletions", _DELETIONS, _areas(root, KEPT, partition), {}),
            _deny("DenyPublicReading", ("s3:GetObject*",), _areas(root, PRIVATE, partition),
                  strangers(account)),
            _deny("DenyPublicListing", _LISTINGS, (bucket,), strangers(account)),
        ]
    )  # fmt: skip


def strangers(account: str | None) -> Condition:
    """Everybody who is not signed in; with ``account`` everybody who is not in it."""
    if account is None:
        return {"StringEquals": {"aws:PrincipalType": "Anonymous"}}
    return {
        "StringNotEquals": {"aws:PrincipalAccount": account},
        "BoolIfExists": {"aws:PrincipalIsAWSService": "false"},
    }


def _areas(root: Root, areas: tuple[str, ...], partition: str) -> tuple[str, ...]:
    return tuple(object_arn(root, area, partition) for area in areas)


def _deny(
    sid: str, actions: tuple[str, ...], resources: tuple[str, ...], condition: Condition
) -> Statement:
    return Statement(sid, actions, resources, condition, effect="Deny", everybody=True)


def lifecycle(root: Root) -> Mapping[str, object] | None:
    """S3's rules that end incomplete multipart uploads under the root, and expire stages.

    None for other stores. No rule expires versions: they are what a restore and
    ``--strict-history`` look at.
    """
    if root.scheme != "s3":
        return None
    return {
        "Rules": [
            {
                "ID": "scenemosaic-abort-incomplete-uploads",
                "Status": "Enabled",
                "Filter": {"Prefix": f"{root.prefix}/" if root.prefix else ""},
                "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": ABORT_DAYS},
            },
            {
                "ID": "scenemosaic-expire-stages",
                "Status": "Enabled",
                "Filter": {"Prefix": f"{root.prefix}/stages/" if root.prefix else "stages/"},
                "Expiration": {"Days": ABORT_DAYS},
                "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
            },
        ]
    }
