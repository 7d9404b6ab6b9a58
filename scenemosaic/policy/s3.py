"""What each role may do in the bucket: identity policies of S3. Pure.

S3 lets a policy tell a conditional write from a plain one by ``s3:if-none-match`` and
``s3:if-match``, and what takes no condition (the steps of a multipart upload but for
its completion) by ``s3:ObjectCreationOperation``.
"""

from collections.abc import Mapping

from scenemosaic.policy.documents import Condition, Statement, literal
from scenemosaic.policy.needs import NEEDS, Need, Role, Verb
from scenemosaic.roots import Root

CREATES: Condition = {"Null": {"s3:if-none-match": "false"}}
REPLACES: Condition = {"Null": {"s3:if-match": "false"}}
MAKES_NO_OBJECT: Condition = {"Bool": {"s3:ObjectCreationOperation": "false"}}

# verb -> (Sid, actions on objects, condition); listings are bucket-wide and come below
_ON_OBJECTS: Mapping[Verb, tuple[tuple[str, tuple[str, ...], Condition], ...]] = {
    Verb.READ: (("Read", ("s3:GetObject",), {}),),
    Verb.CREATE: (("CreateWhereAbsent", ("s3:PutObject",), CREATES),),
    Verb.REPLACE: (("ReplaceByETag", ("s3:PutObject",), REPLACES),),
    Verb.SEND_PARTS: (
        ("SendParts", ("s3:PutObject",), MAKES_NO_OBJECT),
        ("CheckAndEndUploads", ("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"), {}),
    ),
    Verb.END_UPLOADS: (("EndAbandonedUploads", ("s3:AbortMultipartUpload",), {}),),
    Verb.PROBE: (("PutPlainProbe", ("s3:PutObject",), {}),),
    Verb.DELETE: (("DeleteOwnProbes", ("s3:DeleteObject", "s3:DeleteObjectVersion"), {}),),
}
_UPLOADS = (Verb.SEND_PARTS, Verb.END_UPLOADS)

CANNOT: tuple[str, ...] = (
    "s3:ListBucketMultipartUploads knows no prefix: who may end uploads sees those of the whole "
    "bucket.",
    "sources outside the root are read with the same credentials: add s3:GetObject and "
    "s3:ListBucket for their buckets; with a KMS key add kms:GenerateDataKey and kms:Decrypt, "
    "with object tags s3:PutObjectTagging.",
    "whoever may change the bucket's policy may take the guard away: give s3:PutBucketPolicy, "
    "s3:DeleteBucketPolicy and s3:PutLifecycleConfiguration to none of these roles.",
)


def bucket_arn(root: Root, partition: str = "aws") -> str:
    return f"arn:{partition}:s3:::{root.bucket}"


def object_arn(root: Root, area: str, partition: str = "aws") -> str:
    """The ARN of the keys below the root that match ``area``."""
    return f"{bucket_arn(root, partition)}/{key_pattern(root, area)}"


def key_pattern(root: Root, area: str) -> str:
    """``area`` as a pattern of full keys; what the root's own name holds is taken literally."""
    return (f"{literal(root.prefix)}/" if root.prefix else "") + area


def role_statements(root: Root, role: Role, partition: str = "aws") -> tuple[Statement, ...]:
    """The statements on S3 of one role's identity policy."""
    needs = NEEDS[role]
    return (
        *(one for need in needs for one in _on_objects(root, need, partition)),
        *_listings(root, needs, partition),
    )


def _on_objects(root: Root, need: Need, partition: str) -> tuple[Statement, ...]:
    resources = tuple(object_arn(root, area, partition) for area in need.areas)
    return tuple(
        Statement(sid + _suffix(need), actions, resources, condition)
        for sid, actions, condition in _ON_OBJECTS.get(need.verb, ())
    )


def _suffix(need: Need) -> str:
    """A Sid is unique in its policy; the quick probe has statements of its own."""
    return "Probe" if need.areas == ("preflight/probe",) else ""


def _listings(root: Root, needs: tuple[Need, ...], partition: str) -> tuple[Statement, ...]:
    bucket = (bucket_arn(root, partition),)
    below: Condition = (
        {"StringLike": {"s3:prefix": [key_pattern(root, "*")]}} if root.prefix else {}
    )
    verbs = {need.verb for need in needs}
    found = [Statement("List", ("s3:ListBucket",), bucket, below)]
    if Verb.LIST_VERSIONS in verbs:
        found.append(Statement("ListVersions", ("s3:ListBucketVersions",), bucket, below))
    if verbs.intersection(_UPLOADS):
        found.append(Statement("ListUploads", ("s3:ListBucketMultipartUploads",), bucket))
    return tuple(found)
