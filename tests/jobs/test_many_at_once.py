"""Invariant 4: N runs of one job at once: one version of each key, one row a window."""

import json
from pathlib import Path

from scenemosaic import keys
from tests.jobs.places import MakePlace, client, finish
from tests.lengths import IS_FULL

RUNS = 8


def test_eight_engines_at_once(make_place: MakePlace, scene: Path) -> None:
    place = make_place()
    # In a bucket every window that somebody else has takes eight runs long.
    is_short = place.root.startswith("s3:") and not IS_FULL
    side, windows = (512, 9) if is_short else (256, 30)
    runs = [place.start(scene, side, f"run-{number}") for number in range(RUNS)]
    answers = [finish(run) for run in runs]
    assert [code for code, _, _ in answers] == [0] * RUNS, [err for _, _, err in answers]
    results = [json.loads(out) for _, out, _ in answers]
    assert sum(result["written"] for result in results) == results[0]["windows"] == windows
    assert sorted(result["outcome"] for result in results)[-1] == "written"
    assert sum(result["outcome"] == "written" for result in results) == 1
    versions = place.versions()
    probed = versions.pop(keys.PROBE_KEY, [])
    assert len(probed) == place.root.startswith("s3:"), "the short preflight's, and none elsewhere"
    assert len(versions) == windows + 4
    assert all(len(found) == 1 for found in versions.values())
    assert place.uploads() == []


def test_rows_in_the_table_itself(s3_place: MakePlace, scene: Path) -> None:
    place = s3_place()
    runs = [place.start(scene, 512, f"run-{number}") for number in range(4)]
    assert [finish(run)[0] for run in runs] == [0] * 4
    table = place.manifest.removeprefix("dynamodb://")
    items = client(place, "dynamodb").scan(TableName=table, ConsistentRead=True)["Items"]
    items = [item for item in items if item["job_id"]["S"] != keys.PROBE_PARTITION]
    names = sorted(item["window"]["S"] for item in items)
    assert names == [*(f"{row:04d}_{col:04d}" for row in range(3) for col in range(3)), "mosaic"]
    assert {item["revision"]["N"] for item in items} == {"1"}
