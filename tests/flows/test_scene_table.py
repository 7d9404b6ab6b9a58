"""Links to the runs of scenes, whatever the scenes are called."""

from flows.reports.backfill import SceneRow
from flows.shown.scene_table import run_links


def row(scene: str, run_id: str | None = "1-2") -> SceneRow:
    return SceneRow(scene, "job", "Mosaicked", "", run_id=run_id)


def test_a_line_for_each_run() -> None:
    shown = run_links([row("/data/a.tif"), row("b.tif", None), row("s3://b/x_1](y)`z`.tif")])
    assert shown.splitlines() == [
        "- [/data/a.tif](../../runs/flow-run/1-2): Mosaicked",
        r"- [s3://b/x\_1\](y)\`z\`.tif](../../runs/flow-run/1-2): Mosaicked",
    ]
    assert run_links([row("a.tif", None)]) == ""
