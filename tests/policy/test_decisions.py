"""What the printed policies decide, request by request, by AWS's own rules of evaluation."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic import keys
from scenemosaic.policy.advice import Advice, advise
from scenemosaic.policy.documents import literal
from scenemosaic.policy.needs import Role
from scenemosaic.roots import Root
from tests.policy.conftest import ACCOUNT, MANIFEST, ROOT, bucket_policy, iam_policy
from tests.policy.evaluator import Ask, is_allowed, is_denied, like
from tests.policy.requests import ANONYMOUS, ROLE, Sent, asks

JOB = "0123456789abcdef" * 2
TILE, OTHER = keys.tile_key(JOB, "0000_0000"), "other/thing.txt"
MOSAIC, ITEM = keys.mosaic_key(JOB), keys.item_key(JOB)
REVISION = keys.mosaic_key(JOB, 1)
PLAN, AUDIT = keys.plan_key(JOB), keys.audit_key(JOB, 1)
LEDGER, POINTER = keys.ledger_key("daily"), keys.POINTER_KEY
EVERY = (TILE, MOSAIC, REVISION, ITEM, PLAN, AUDIT, LEDGER, POINTER)
CREATE, REPLACE, PLAIN = {"IfNoneMatch": "*"}, {"IfMatch": '"etag"'}, dict[str, str]()
ROLES = [role.value for role in Role]


def put(key: str, condition: Mapping[str, str], operation: str = "PutObject") -> Sent:
    return Sent(operation, {"Bucket": "bucket", "Key": f"some/root/{key}", **condition})


def part(operation: str, key: str = MOSAIC) -> Sent:
    source = {"CopySource": {"Bucket": "bucket", "Key": f"some/root/{TILE}"}}
    return put(key, source if operation == "UploadPartCopy" else PLAIN, operation)  # type: ignore[arg-type]


def allowed(advice: Advice, role: str, sent: Sent) -> bool:
    """By the role's own policy and the bucket's together."""
    policies = [iam_policy(advice, role), bucket_policy(advice)]
    return all(is_allowed(ask, policies) for ask in asks(sent, ROOT, MANIFEST))


@pytest.mark.parametrize(
    ("role", "sent", "wanted"),
    [
        ("worker", put(TILE, CREATE), True),
        ("worker", put(TILE, PLAIN), False),
        ("worker", put(TILE, REPLACE), False),
        ("worker", put(PLAN, CREATE), True),
        ("worker", put(AUDIT, CREATE), True),
        ("worker", put(AUDIT, REPLACE), False),
        ("worker", put(MOSAIC, CREATE), False),
        ("worker", put(ITEM, REPLACE), False),
        ("worker", put(LEDGER, CREATE), False),
        ("worker", part("CreateMultipartUpload", TILE), False),
        ("worker", put(keys.PROBE_KEY, CREATE), True),
        ("worker", put(keys.PROBE_KEY, REPLACE), True),
        ("worker", put(OTHER, CREATE), False),
        ("assembler", put(MOSAIC, CREATE), True),
        ("assembler", put(ITEM, CREATE), True),
        ("assembler", put(ITEM, REPLACE), False),
        ("assembler", put(TILE, CREATE), False),
        ("assembler", part("CreateMultipartUpload"), True),
        ("assembler", part("UploadPart"), True),
        ("assembler", part("UploadPartCopy"), True),
        ("assembler", put(MOSAIC, CREATE, "CompleteMultipartUpload"), True),
        ("assembler", put(MOSAIC, PLAIN, "CompleteMultipartUpload"), False),
        ("assembler", put(MOSAIC, REPLACE, "CompleteMultipartUpload"), False),
        ("assembler", part("AbortMultipartUpload"), True),
        ("repairer", put(ITEM, REPLACE), True),
        ("repairer", put(ITEM, PLAIN), False),
        ("repairer", put(TILE, REPLACE), True),
        ("repairer", put(TILE, CREATE), True),
        ("repairer", put(REVISION, CREATE, "CompleteMultipartUpload"), True),
        ("repairer", put(MOSAIC, REPLACE), False),
        ("repairer", put(PLAN, CREATE), True),
        ("repairer", put(PLAN, REPLACE), True),
        ("repairer", put(PLAN, PLAIN), False),
        ("repairer", put(AUDIT, REPLACE), False),
        ("repairer", put(LEDGER, REPLACE), False),
        ("publisher", put(LEDGER, CREATE), True),
        ("publisher", put(LEDGER, REPLACE), True),
        ("publisher", put(LEDGER, PLAIN), False),
        ("publisher", put(POINTER, REPLACE), True),
        ("publisher", put(ITEM, REPLACE), False),
        ("publisher", put(TILE, CREATE), False),
        ("operator", put(LEDGER, REPLACE), True),
        ("operator", put(LEDGER, PLAIN), False),
        ("operator", put(MOSAIC, CREATE), False),
        ("operator", part("AbortMultipartUpload"), True),
        ("operator", put(keys.ledger_probe_key(JOB), PLAIN), False),
    ],
)  # fmt: skip
def test_a_roles_writes(advice: Advice, role: str, sent: Sent, wanted: bool) -> None:
    assert allowed(advice, role, sent) is wanted


def test_the_operators_plain_probe_is_stopped_by_the_buckets_policy_alone(advice: Advice) -> None:
    (ask,) = asks(put(keys.ledger_probe_key(JOB), PLAIN), ROOT, MANIFEST)
    assert is_allowed(ask, [iam_policy(advice, "operator")])
    assert is_denied(ask, bucket_policy(advice))


ANYTHING: Mapping[str, Any] = {
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]
}


@pytest.mark.parametrize("key", [*EVERY, "preflight/x", "what/ever/comes/later.json"])
def test_not_even_an_administrator_writes_without_a_condition(advice: Advice, key: str) -> None:
    def may(sent: Sent) -> bool:
        policies = [ANYTHING, bucket_policy(advice)]
        return all(is_allowed(ask, policies) for ask in asks(sent, ROOT, MANIFEST))

    for operation in ("PutObject", "CompleteMultipartUpload"):
        assert not may(put(key, PLAIN, operation))
        assert may(put(key, CREATE, operation))
        assert may(put(key, REPLACE, operation))
    for operation in ("CreateMultipartUpload", "UploadPart", "UploadPartCopy"):
        assert may(part(operation, key))


@pytest.mark.parametrize("key", EVERY)
@pytest.mark.parametrize("version", [{}, {"VersionId": "v1"}])
def test_nobody_deletes_an_output(advice: Advice, key: str, version: dict[str, str]) -> None:
    sent = Sent("DeleteObject", {"Bucket": "bucket", "Key": f"some/root/{key}", **version})
    (ask,) = asks(sent, ROOT, MANIFEST)
    assert not is_allowed(ask, [ANYTHING, bucket_policy(advice)])
    assert not any(is_allowed(ask, [iam_policy(advice, role)]) for role in ROLES)


def test_only_the_operator_deletes_and_only_probes(advice: Advice) -> None:
    probe = f"some/root/preflight/{JOB}/start"
    (ask,) = asks(Sent("DeleteObject", {"Bucket": "bucket", "Key": probe}), ROOT, MANIFEST)
    policies = {role: [iam_policy(advice, role), bucket_policy(advice)] for role in ROLES}
    assert [role for role in ROLES if is_allowed(ask, policies[role])] == ["operator"]


def read(key: str, action: str = "s3:GetObject", **who: str) -> Ask:
    return Ask(action, f"arn:aws:s3:::bucket/some/root/{key}", {**ANONYMOUS, **who})


PUBLIC: Mapping[str, Any] = {
    "Statement": [
        {"Effect": "Allow", "Action": "s3:GetObject*", "Resource": "arn:aws:s3:::bucket/*"},
        {"Effect": "Allow", "Action": "s3:List*", "Resource": "arn:aws:s3:::bucket"},
    ]
}


@pytest.mark.parametrize("key", [PLAN, LEDGER, AUDIT, TILE])
def test_a_public_bucket_keeps_private_keys_private(advice: Advice, key: str) -> None:
    policies = [PUBLIC, bucket_policy(advice)]
    for action in ("s3:GetObject", "s3:GetObjectVersion", "s3:GetObjectAcl"):
        assert is_allowed(read(key, action), [PUBLIC])
        assert not is_allowed(read(key, action), policies)
    assert is_allowed(read(key, **ROLE), policies)


@pytest.mark.parametrize("key", [MOSAIC, ITEM, REVISION, POINTER])
def test_mosaics_may_be_public(advice: Advice, key: str) -> None:
    assert is_allowed(read(key), [PUBLIC, bucket_policy(advice)])
    # The policies make nothing public by themselves.
    assert not is_allowed(read(key), [bucket_policy(advice)])


@pytest.mark.parametrize("action", ["ListBucket", "ListBucketVersions"])
def test_nobody_lists_a_public_bucket(advice: Advice, action: str) -> None:
    ask = Ask(f"s3:{action}", "arn:aws:s3:::bucket", {**ANONYMOUS, "s3:prefix": "some/root/"})
    assert is_allowed(ask, [PUBLIC])
    assert not is_allowed(ask, [PUBLIC, bucket_policy(advice)])


def test_an_account_closes_private_keys_to_other_accounts() -> None:
    other = {**ROLE, "aws:PrincipalAccount": "999999999999"}
    service = {**ROLE, "aws:PrincipalAccount": "", "aws:PrincipalIsAWSService": "true"}
    open_, closed = advise(ROOT, MANIFEST), advise(ROOT, MANIFEST, account=ACCOUNT)
    assert is_allowed(read(TILE, **other), [PUBLIC, bucket_policy(open_)])
    policies = [PUBLIC, bucket_policy(closed)]
    assert not is_allowed(read(TILE, **other), policies)
    assert not is_allowed(read(TILE), policies)
    assert is_allowed(read(TILE, **ROLE), policies)
    assert is_allowed(read(TILE, **service), policies)
    assert is_allowed(read(MOSAIC, **other), policies)


def test_plain_http_is_denied_below_the_root(advice: Advice) -> None:
    plain = {"aws:SecureTransport": "false"}
    assert is_denied(read(MOSAIC, **plain), bucket_policy(advice))
    assert is_denied(
        Ask("s3:ListBucket", "arn:aws:s3:::bucket", {**ROLE, **plain}), bucket_policy(advice)
    )


def test_what_lies_beside_the_root_is_let_alone(advice: Advice) -> None:
    for action in ("s3:PutObject", "s3:DeleteObject", "s3:GetObject"):
        ask = Ask(action, "arn:aws:s3:::bucket/some/rooted/tiles/x", {**ANONYMOUS})
        assert not is_denied(ask, bucket_policy(advice))
    for role in ROLES:
        ask = Ask("s3:GetObject", "arn:aws:s3:::bucket/some/rooted/tiles/x", ROLE)
        assert not is_allowed(ask, [iam_policy(advice, role)])
        listing = Ask("s3:ListBucket", "arn:aws:s3:::bucket", {**ROLE, "s3:prefix": "some/"})
        assert not is_allowed(listing, [iam_policy(advice, role)])


def rows(partition: str, operation: str = "PutItem") -> Sent:
    return Sent(operation, {"TableName": "rows", "Item": {"job_id": {"S": partition}}})


@pytest.mark.parametrize(
    "partition",
    [
        keys.partition(JOB, ROOT.uri),
        keys.partition(JOB, ROOT.uri, 3 * keys.WINDOWS_PER_SHARD),
        keys.claim_partition(JOB, ROOT.uri),
        keys.PROBE_PARTITION,
    ],
)
def test_rows_of_the_root_are_open(advice: Advice, partition: str) -> None:
    for role in ("worker", "assembler", "repairer", "operator"):
        assert allowed(advice, role, rows(partition))
    assert not allowed(advice, "publisher", rows(partition))


@pytest.mark.parametrize("role", ROLES)
def test_rows_of_other_roots_and_tables_are_closed(advice: Advice, role: str) -> None:
    assert not allowed(advice, role, rows(keys.partition(JOB, "s3://bucket/another")))
    elsewhere = Sent(
        "PutItem", {**rows(keys.partition(JOB, ROOT.uri)).parameters, "TableName": "x"}
    )
    assert not allowed(advice, role, elsewhere)


@pytest.mark.parametrize("role", ROLES)
def test_only_a_preflights_own_rows_are_deleted(advice: Advice, role: str) -> None:
    assert not allowed(advice, role, rows(keys.partition(JOB, ROOT.uri), "DeleteItem"))
    own = rows(keys.probe_partition(JOB), "DeleteItem")
    assert allowed(advice, role, own) is (role == "operator")


@given(st.text(alphabet="ab*?$/{}", min_size=1, max_size=8), st.text("ab*?$/{}", max_size=8))
def test_a_roots_name_is_taken_literally(name: str, other: str) -> None:
    assert like(literal(name), name)
    assert like(literal(name), other) is (name == other)


def test_a_root_that_is_the_whole_bucket() -> None:
    found = advise(Root("s3", "bucket", ""), MANIFEST)
    ask = Ask("s3:PutObject", f"arn:aws:s3:::bucket/{TILE}", {**ROLE, "s3:if-none-match": "*"})
    assert is_allowed(ask, [iam_policy(found, "worker"), bucket_policy(found)])
