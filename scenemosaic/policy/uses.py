"""Which AWS actions the adapters' requests need, and why each is sent: a table that tests hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """One API operation that an adapter sends, and one action that it takes."""

    operation: str
    action: str
    why: str


USES: tuple[Use, ...] = (
    Use("HeadObject", "s3:GetObject", "what stands under a key, and whose it is"),
    Use("HeadObject", "s3:ListBucket", "S3 answers 403 instead of 404 where it may not be listed"),
    Use("GetObject", "s3:GetObject", "reads back what a refusal left standing; bytes of tiles"),
    Use("PutObject", "s3:PutObject", "one conditional request for each small object and tile"),
    Use("CreateMultipartUpload", "s3:PutObject", "begins a large object"),
    Use("UploadPart", "s3:PutObject", "its bytes that are nowhere in the store yet"),
    Use("UploadPartCopy", "s3:PutObject", "its bytes that a tile holds"),
    Use("UploadPartCopy", "s3:GetObject", "that tile, by its ETag"),
    Use("CompleteMultipartUpload", "s3:PutObject", "makes the large object, by condition"),
    Use("ListParts", "s3:ListMultipartUploadParts", "compares what arrived before completing"),
    Use("AbortMultipartUpload", "s3:AbortMultipartUpload", "an upload that failed or was refused"),
    Use("ListMultipartUploads", "s3:ListBucketMultipartUploads", "uploads that nobody remembers"),
    Use("ListObjectsV2", "s3:ListBucket", "the audit log's next number; stray objects"),
    Use("ListObjectVersions", "s3:ListBucketVersions", "delete markers, history, own probes"),
    Use("DeleteObject", "s3:DeleteObject", "preflight's own probes"),
    Use("DeleteObject", "s3:DeleteObjectVersion", "preflight's own probes, by exact version"),
    Use("GetItem", "dynamodb:GetItem", "one row or claim; whether the table serves"),
    Use("Query", "dynamodb:Query", "a job's rows"),
    Use("PutItem", "dynamodb:PutItem", "a row or claim, by condition"),
    Use("DeleteItem", "dynamodb:DeleteItem", "preflight's own rows"),
    Use("CreateTable", "dynamodb:CreateTable", "`init`, once"),
)  # fmt: skip


def why(action: str) -> tuple[str, ...]:
    """Every reason for which an action is allowed, as ``operation: reason``."""
    return tuple(f"{use.operation}: {use.why}" for use in USES if use.action == action)
