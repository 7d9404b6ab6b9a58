"""An operator's backfill from Prefect's own pages: a mistake, the run, what it shows, and again."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from flows.verbs.demo_scene import make_scene
from tests import servers
from tests.flows.serving import flow_runs, objects, served, start_prefect
from tests.ui.browser import Form, artifact, chromium, opened, picture

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
# Pixels a side, by which the scenes differ, and their windows of 128 pixels a side.
SCENES = {"north.tif": (512, 16), "south.tif": (384, 9)}


def test_a_backfill_from_the_form(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = chromium()
    folder = tmp_path_factory.mktemp("scenes")
    root = folder / "mosaics"
    for name, (size, _) in SCENES.items():
        make_scene(folder / name, size, lambda done, of: None)
    server = start_prefect(tmp_path_factory.mktemp("prefect"), pages=True)
    with servers.running(server), served(f"{server.url}/api", folder):
        with opened(program, server.url) as page:
            _wrong_then_right(page, folder, root)
            _ended(page, "Backfilled")
            backfill = page.url
            _sees_the_backfill(page, "Mosaicked", "written, 0 already there")
            picture(page, "backfill.png")
            _sees_the_scene(page, _linked_run(page, backfill, "north.tif"))
            before = _standing(root)
            _filled(page, folder, root).start()
            _ended(page, "AlreadyMosaicked")
            _sees_the_backfill(page, "AlreadyMosaicked", "all of it was there")
            picture(page, "again.png")
        runs = flow_runs(f"{server.url}/api", root)

    assert _standing(root) == before, "the second one wrote nothing"
    states = [run["state_name"] for run in runs]
    # Of the backfills the page may start one twice, of each scene nothing may.
    assert states.count("Mosaicked") == len(SCENES)
    assert set(states) == {"AlreadyMosaicked", "Backfilled", "Mosaicked"}


def _filled(page: Page, folder: Path, root: Path) -> Form:
    form = Form(page, "backfill-scenes")
    form.add("Scenes", [str(folder / name) for name in SCENES])
    form.fill("to", str(root), kind="str")
    form.fill("Window", "128", kind="int")
    form.fill("Block", "64", kind="int")
    return form


def _wrong_then_right(page: Page, folder: Path, root: Path) -> None:
    form = _filled(page, folder, root)
    at_once = form.fill("at_once", "0")
    form.submit.click()
    said = str(at_once.evaluate("input => input.validationMessage"))
    assert "greater than or equal to 1" in said, "the browser itself says so, beside the field"
    at_once.fill("2")
    store = form.fill("store", "My Store", kind="str")
    form.refused()
    wrong = form.field("store").get_by_text("'My Store' does not match '^[a-z0-9-]+$'")
    expect(wrong).to_be_visible()
    store.scroll_into_view_if_needed()
    picture(page, "form.png")
    form.choose("store", "None")
    assert not root.exists(), "what does not fit starts nothing"
    form.start()


def _ended(page: Page, state: str) -> None:
    expect(page.locator("main").get_by_text(state, exact=True).first).to_be_visible()


def _sees_the_backfill(page: Page, state: str, what: str) -> None:
    artifact(page, page.url, "backfill$")
    for name, (_, windows) in SCENES.items():
        row = page.get_by_role("row").filter(has_text=name)
        expect(row.get_by_role("cell", name=state, exact=True)).to_be_visible()
        expect(row).to_contain_text(what)
        expect(row.get_by_role("cell", name=str(windows), exact=True)).to_be_visible()


def _linked_run(page: Page, backfill: str, scene: str) -> str:
    """The page of a scene's run, to which the backfill leads."""
    artifact(page, backfill, "backfill-runs")
    page.get_by_test_id("markdown-display").get_by_role("link", name=scene).click()
    expect(page).to_have_url(re.compile("/v2/runs/flow-run/"))
    expect(page.locator("main").get_by_text(f"{scene} →").first).to_be_visible()
    return page.url


def _sees_the_scene(page: Page, run: str) -> None:
    windows = SCENES["north.tif"][1]
    artifact(page, run, "outcomes-")
    row = page.get_by_role("row").filter(has_text=re.compile("^written"))
    expect(row).to_contain_text(str(windows))
    picture(page, "outcomes.png")
    artifact(page, run, "gap-map-")
    shown = page.get_by_test_id("markdown-display")  # the raw text lies hidden below it
    expect(shown.get_by_text(f"🟩 {windows} written")).to_be_visible()
    expect(shown.get_by_text("🟩🟩🟩🟩").first).to_be_visible()
    picture(page, "gap-map.png")
    artifact(page, run, "preview-")
    preview = page.get_by_role("img", name="artifact-image")
    expect(preview).to_be_visible()
    assert preview.evaluate("image => image.naturalWidth") > 0, "it is a picture"
    picture(page, "preview.jpg")  # of a PNG too much is noise


def _standing(root: Path) -> dict[Path, tuple[int, int]]:
    """Every file that a run writes: which one it is, and when it was written."""
    return {path: (path.stat().st_ino, time) for path, time in objects(root).items()}
