"""Prefect's pages in a headless Chromium, and the form of a deployment as a person fills it."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import (
    Error,
    Locator,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

WAIT_MS = 180_000
_VALIDATE, _CREATE = "/ui/schemas/validate", "/create_flow_run"
# A run is asked for at once where the form was found right.
_FOLLOWS_MS = 10_000
_TRIES = 4
_LOOK_MS = 100
# Not by page.route: without the browser's cache each page reads all of Prefect's code anew.
_NOBODY_ELSE = ("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",)
_SIZE = {"width": 1000, "height": 560}


def chromium() -> str:
    """The installed program; the test is skipped where there is none, and fails in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        reason = "no Chromium here (Debian: apt-get install chromium)"
        if os.environ.get("SCENEMOSAIC_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@contextmanager
def opened(program: str, url: str) -> Iterator[Page]:
    """A page that reaches this machine, on which the server at ``url`` is, and no other."""
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-dev-shm-usage", *_NOBODY_ELSE],
            timeout=WAIT_MS,
        )
        page = browser.new_page(viewport=_SIZE, base_url=url, locale="en-GB", timezone_id="UTC")
        page.set_default_timeout(WAIT_MS)
        try:
            yield page
        except (AssertionError, Error) as error:
            error.add_note(f"{page.url}\n{page.locator('body').inner_text(timeout=5000)}")
            raise
        finally:
            browser.close()


class Form:
    """The parameters of a deployment's custom run."""

    def __init__(self, page: Page, flow: str) -> None:
        self.page = page
        page.goto("/v2/deployments")
        row = page.get_by_role("row").filter(has_text=flow)
        row.get_by_role("link", name="default").click()
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Custom run").click()
        self.submit = page.get_by_role("button", name="Submit")
        expect(self.submit).to_be_visible()

    def field(self, label: str) -> Locator:
        """All of a field: its label, its description, its inputs and its errors."""
        label_ = self.page.locator("label").filter(
            has_text=re.compile(rf"^{re.escape(label)}( \(Optional\))?$")
        )
        return label_.locator("xpath=ancestor::div[fieldset][1]")

    def fill(self, label: str, value: str, *, kind: str | None = None) -> Locator:
        """Type ``value`` into a field's one input; ``kind`` is chosen where it may be left out."""
        field = self.field(label)
        if kind is not None:
            field.get_by_role("tab", name=kind, exact=True).click()
        entry = field.get_by_role("textbox").or_(field.get_by_role("spinbutton"))
        entry.fill(value)
        return entry

    def choose(self, label: str, kind: str) -> None:
        """What a field that may be left out holds: a group, a text, or None."""
        self.field(label).get_by_role("tab", name=kind, exact=True).click()

    def add(self, label: str, values: list[str]) -> None:
        """Give a list its items."""
        field = self.field(label)
        for number, value in enumerate(values):
            field.get_by_role("button", name="Add item").click()
            field.get_by_role("textbox").nth(number).fill(value)

    def refused(self) -> None:
        """Submit what does not fit, and wait for the server's own no."""
        with self.page.expect_response(re.compile(_CREATE)) as answer:
            self.submit.click()
        assert answer.value.status == 409, "nothing starts"

    def start(self) -> None:
        """Submit what fits, and open the run that it makes."""
        asked: list[Request] = []
        answers: list[Response] = []
        self.page.on("request", lambda one: asked.append(one) if _CREATE in one.url else None)
        self.page.on("response", lambda one: answers.append(one) if _CREATE in one.url else None)
        for tries in range(1, _TRIES + 1):
            with self.page.expect_response(re.compile(_VALIDATE)):
                self.submit.click()
            # After a mistake the page only checks again, and wants one more click.
            self._wait(lambda: bool(asked), _FOLLOWS_MS)
            self._wait(lambda: len(answers) == len(asked), WAIT_MS)
            if any(one.ok for one in answers):
                break
            assert tries < _TRIES, [one.status for one in answers]
        made = next(one for one in answers if one.ok)
        # Gone to by its address: the link to it is shown for a moment only.
        self.page.goto(f"/v2/runs/flow-run/{made.json()['id']}")

    def _wait(self, until: Callable[[], bool], most_ms: int) -> None:
        for _ in range(most_ms // _LOOK_MS):
            if until():
                return
            self.page.wait_for_timeout(_LOOK_MS)


def artifact(page: Page, run: str, key: str) -> None:
    """Open one of a run's artifacts; ``run`` is the run's page, ``key`` how the artifact begins."""
    page.goto(run)
    page.get_by_role("tab", name="Artifacts").click()
    links = page.locator("a[href*='/artifacts/artifact/']")  # the flow is a link, too
    links.filter(has=page.get_by_role("heading", name=re.compile(f"^{key}"))).click()
    expect(page.get_by_role("tab", name="Raw")).to_be_visible()


def picture(page: Page, name: str) -> None:
    """Keep what the page shows for the documents, where ``SCENEMOSAIC_PICTURES`` says where."""
    folder = os.environ.get("SCENEMOSAIC_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / name)
