"""Every request that is really sent is allowed to its role, and every allowance is needed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from scenemosaic.policy.needs import Role
from scenemosaic.policy.uses import USES
from scenemosaic.stores import s3
from scenemosaic.stores.s3_parts import Limits
from tests import servers
from tests.faults.proxy import Proxy
from tests.jobs.assembling import write_noise
from tests.policy.conftest import bucket_policy, iam_policy, of_place
from tests.policy.evaluator import Ask, is_allowed
from tests.policy.requests import asks, recorded
from tests.policy.scenario import Life, live

ROLES = [role.value for role in Role]
# In a bucket that keeps no versions, a probe that no policy denied is deleted like this.
UNVERSIONED = "DeleteOwnProbes: s3:DeleteObject {bucket}/some/root/ledger/preflight-*"


@pytest.fixture(scope="module")
def life(ministack: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """A life lived once, through a proxy, with a fresh bucket that keeps versions."""
    root = f"s3://{servers.make_bucket(ministack, versioned=True)}/some/root"
    manifest = f"dynamodb://{servers.fresh_table_name()}?region={servers.REGION}"
    scene = write_noise(tmp_path_factory.mktemp("scene") / "scene.tif")
    with pytest.MonkeyPatch.context() as patch, Proxy(ministack) as front:
        patch.setenv("AWS_ENDPOINT_URL", front.url)
        # A mosaic of so many parts that it is made in two stages.
        mib = 1 << 20
        patch.setattr(s3, "S3_LIMITS", Limits(mib, 5000 * mib, 2 * mib, 4))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with recorded(patch) as seen:
            found = Life(seen, root, manifest, ministack)
            live(found, scene, front)
        yield found


def asked(life: Life, role: str) -> list[Ask]:
    root, manifest, _ = of_place(life.root, life.manifest)
    return [ask for sent in life.sent[role] for ask in asks(sent, root, manifest)]


def test_what_each_role_sends_is_allowed(life: Life) -> None:
    _, _, advice = of_place(life.root, life.manifest)
    refused = {}
    for role in ROLES:
        policies = [iam_policy(advice, role), bucket_policy(advice)]
        found = {f"{ask.action} {ask.resource}" for ask in asked(life, role)
                 if not is_allowed(ask, policies)}  # fmt: skip
        refused[role] = sorted(found)
    # Without a bucket policy this one lands; it is there to be denied.
    (probe,) = refused.pop("operator")
    assert re.fullmatch(r"s3:PutObject arn:\S+/some/root/ledger/preflight-[0-9a-f]{32}", probe)
    assert not any(refused.values()), refused


def test_what_each_role_is_allowed_it_needs(life: Life) -> None:
    """Each action of its policy, on each of its resources, serves some request."""
    _, _, advice = of_place(life.root, life.manifest)
    idle = {role: list(unused(iam_policy(advice, role), asked(life, role))) for role in ROLES}
    bucket = "arn:aws:s3:::" + life.root.removeprefix("s3://").partition("/")[0]
    assert set(idle.pop("operator")) <= {UNVERSIONED.format(bucket=bucket)}
    assert not any(idle.values()), idle


def unused(policy: Mapping[str, Any], sent: Sequence[Ask]) -> Iterator[str]:
    for one in policy["Statement"]:
        for action, resource in product(one["Action"], one["Resource"]):
            alone = {"Statement": [{**one, "Action": [action], "Resource": [resource]}]}
            if not any(is_allowed(ask, [alone]) for ask in sent):
                yield f"{one['Sid']}: {action} {resource}"


def test_the_table_of_uses_has_nothing_that_is_never_sent(life: Life) -> None:
    sent = {one.operation for role in ROLES for one in life.sent[role]}
    assert {use.operation for use in USES} == sent
