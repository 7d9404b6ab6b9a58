"""The printed documents against the grammar and the actions that AWS knows, by cfn-lint."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from cfnlint.api import lint
from cfnlint.config import ManualArgs

from scenemosaic.policy.advice import Advice, advise
from scenemosaic.policy.needs import Role
from scenemosaic.roots import parse_manifest, parse_root
from tests.policy.conftest import ACCOUNT, bucket_policy, iam_policy

# AWS's limits: a managed policy without its white space, a bucket's policy.
MANAGED_POLICY_CHARACTERS = 6_144
BUCKET_POLICY_BYTES = 20 * 1024
LONG = "s3://" + "b" * 63 + "/" + "/".join(["prefix"] * 12)
PLACES = [
    ("s3://bucket", "dynamodb://scenemosaic-manifest", None),
    ("s3://bucket/some/root", "dynamodb://rows?region=eu-central-1", ACCOUNT),
    ("s3://bucket/cn", "dynamodb://rows?region=cn-north-1", ACCOUNT),
    (LONG, f"dynamodb://{'t' * 255}?region=ap-southeast-1", ACCOUNT),
]


@pytest.fixture(params=PLACES, ids=["bucket", "prefix", "china", "long"])
def found(request: pytest.FixtureRequest) -> Advice:
    root, manifest, account = request.param
    return advise(parse_root(root), parse_manifest(manifest), account=account)


def complaints(**resources: Mapping[str, Any]) -> list[str]:
    """What cfn-lint says of resources, its information on actions and resources included."""
    template = json.dumps({"Resources": resources})
    config = ManualArgs(regions=["us-east-1"], include_checks=["I3510"])
    return [f"{match.rule.id} {match.message}" for match in lint(template, config=config)]


def role_policy(policy: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": policy}}


def of_bucket(policy: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = {"Bucket": "bucket", "PolicyDocument": policy}
    return {"Type": "AWS::S3::BucketPolicy", "Properties": properties}


def test_every_document(found: Advice) -> None:
    roles = {role.value: iam_policy(found, role.value) for role in Role}
    bucket = bucket_policy(found)
    resources = {name.title(): role_policy(policy) for name, policy in roles.items()}
    assert complaints(**resources, Bucket=of_bucket(bucket)) == []
    for policy in roles.values():
        assert len(json.dumps(policy, separators=(",", ":"))) <= MANAGED_POLICY_CHARACTERS
    assert len(json.dumps(bucket).encode()) <= BUCKET_POLICY_BYTES
    for policy in (*roles.values(), bucket):
        sids = [one["Sid"] for one in policy["Statement"]]
        assert all(sid.isalnum() for sid in sids)
        assert len(sids) == len(set(sids))
    assert {one["Effect"] for one in bucket["Statement"]} == {"Deny"}
    assert {one["Principal"] for one in bucket["Statement"]} == {"*"}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"Effect": "Refuse"}, "E35"),
        ({"Action": ["s3:PutObjectIfAbsent"]}, "W3037"),
        ({"Condition": {"StringEqual": {"s3:prefix": "x"}}}, "E35"),
        ({"Principal": {"AWS": "somebody"}}, "E35"),
        ({"Ressource": []}, "E35"),
    ],
)
def test_the_linter_bites(advice: Advice, change: dict[str, Any], rule: str) -> None:
    policy = json.loads(json.dumps(bucket_policy(advice)))
    policy["Statement"][1] |= change
    said = complaints(Bucket=of_bucket(policy))
    assert any(one.startswith(rule) for one in said), said


def test_the_linter_tells_buckets_from_objects(advice: Advice) -> None:
    policy = json.loads(json.dumps(iam_policy(advice, "worker")))
    policy["Statement"][0]["Resource"] = ["arn:aws:sqs:eu-central-1:123456789012:queue"]
    (said,) = complaints(Worker=role_policy(policy))
    assert said.startswith("I3510")
