"""What a bucket and a table hold after jobs of one window each: every object and row once."""

from collections import Counter

from scenemosaic import keys
from tests import servers

OF_A_JOB = {"jobs": 1, "tiles": 1, "mosaics": 3}


def check_written_once(endpoint: str, bucket: str, table: str, jobs: int) -> None:
    """Five objects a job, each of one version, and two rows: the window's and the mosaic's."""
    s3, versions = servers.aws_client("s3", endpoint), Counter[str]()
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        assert not page.get("DeleteMarkers")
        versions.update(one["Key"] for one in page.get("Versions", ()))
    # Beside these lie the probe of preflight, and what the audit log says of refusals.
    contract = {key: n for key, n in versions.items() if key.split("/")[1] in OF_A_JOB}
    assert set(contract.values()) == {1}
    kinds = Counter(key.split("/")[1] for key in contract)
    assert kinds == {kind: count * jobs for kind, count in OF_A_JOB.items()}

    dynamodb, rows = servers.aws_client("dynamodb", endpoint), Counter[str]()
    for page in dynamodb.get_paginator("scan").paginate(TableName=table):
        rows.update(item["window"]["S"] for item in page["Items"])
    assert rows == {"0000_0000": jobs, keys.MOSAIC_ROW: jobs, keys.PROBE_ROW: 1}
