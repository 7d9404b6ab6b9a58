"""Runs of a deployment: one for each key, followed through an API that goes away."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Completed, Crashed, Failed, Running, Scheduled

from blocks.mosaic_recipe import RecipeFields
from flows.server import patience
from flows.server.api import PrefectUnavailable
from flows.starting import launching
from flows.starting.jobs import SceneJob, plan_found
from flows.starting.launch import Launch, Unrecordable, Where
from flows.starting.launching import Deployed
from scenemosaic.discovery.found import Found
from scenemosaic.errors import InputError
from scenemosaic.places import place_at
from scenemosaic.plans.item_facts import ItemFacts
from tests.flows.scenes import BLOCK, WINDOW

OPTIONS = RecipeFields(window=WINDOW, block_size=BLOCK).options()
NAME = "process-scene/default"


@pytest.fixture
def job(scene: Path, tmp_path: Path) -> SceneJob:
    return plan_found(Found(str(scene), "", ""), place_at(str(tmp_path / "root")), OPTIONS)


@pytest.fixture
def launch(job: SceneJob, tmp_path: Path) -> Launch:
    return Launch(job, Where(str(tmp_path / "root")))


class Api:
    """Prefect's, as far as a launcher sees it: answers or raises what it is given, in order."""

    def __init__(self, *answers: "State[Any] | Exception") -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.run_id = uuid4()

    def run_deployment(self, name: str, **given: Any) -> Any:
        assert name == NAME
        self.asked.append(given)
        return self.read_flow_run()

    def read_flow_run(self, *_: Any) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(id=self.run_id, state=answer)

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Any:
    def answering(*answers: "State[Any] | Exception") -> Api:
        made = Api(*answers)
        monkeypatch.setattr(launching, "run_deployment", made.run_deployment)
        monkeypatch.setattr(launching, "get_client", lambda **_: made)
        monkeypatch.setattr(launching, "FIRST_POLL_S", 0)
        monkeypatch.setattr(launching, "LAST_POLL_S", 0)
        monkeypatch.setattr(patience, "PAUSE_S", 0)
        return made

    return answering


def refusal(status: int) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://127.0.0.1/api")
    return httpx.HTTPStatusError(
        f"{status}", request=request, response=httpx.Response(status, request=request)
    )


def test_a_key_is_of_job_root_manifest_mode_and_attempt(launch: Launch, job: SceneJob) -> None:
    assert launch.key.startswith(f"{job.spec.plan.job_id}@")
    assert launch.key.endswith("-missing-1")
    keys = {
        launch.key,
        replace(launch, mode="again").key,
        replace(launch, attempt=2).key,
        *(
            replace(launch, scene=replace(job, spec=_at(job, *place))).key
            for place in (("/another/root",), (job.spec.root, "sqlite:////another/manifest.db"))
        ),
    }
    assert len(keys) == 5


def _at(job: SceneJob, root: str, manifest: str | None = None) -> Any:
    place = place_at(root, manifest)
    return plan_found(Found(job.sources[0], "", ""), place, job.options).spec


def test_parameters_make_the_planned_job(launch: Launch, job: SceneJob, scene: Path) -> None:
    given = launch.parameters()
    assert given["sources"] == [str(scene)]
    assert set(given) == {"sources", "to", "recipe"}
    recipe = RecipeFields(**given["recipe"])
    again = plan_found(Found(str(scene), "", ""), place_at(given["to"]), recipe.options())
    assert again.spec.plan.job_id == job.spec.plan.job_id


def test_a_day_that_a_stac_item_knows_is_told(scene: Path, tmp_path: Path) -> None:
    found = Found(str(scene), "", "", ItemFacts("one", "2024-05-01T10:20:30Z"))
    place = place_at(str(tmp_path / "root"))
    dated = plan_found(found, place, OPTIONS)
    assert dated.spec.plan.datetime == "2024-05-01T10:20:30Z"  # the item's own, as in `process`
    assert Launch(dated, Where("/r")).parameters()["item"]["taken"] == "2024-05-01T10:20:30Z"


def test_a_signed_url_never_becomes_a_parameter(launch: Launch, job: SceneJob) -> None:
    signed = replace(job.spec, locations=("https://h/a.tif?X-Amz-Signature=hunter2",))
    with pytest.raises(InputError, match="signed URL") as caught:
        replace(launch, scene=replace(job, spec=signed)).parameters()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        Where("s3://me:hunter2@b/root"),
        Where("/r", "postgresql://me:hunter2@h/x"),
        Where("/r", "postgresql://h/x?password=hunter2"),
    ],
)
def test_a_password_never_becomes_a_parameter(launch: Launch, where: Where) -> None:
    with pytest.raises(Unrecordable) as caught:
        replace(launch, where=where).parameters()
    assert "hunter2" not in str(caught.value)


def test_a_run_is_followed_to_its_end(launch: Launch, api: Any) -> None:
    made = api(Scheduled(), Running(), Completed(name="Mosaicked", message="12 windows"))
    launcher = Deployed(NAME)
    ended = launcher.wait(launch, launcher.start(launch))
    assert (ended.name, ended.message, ended.exit_code) == ("Mosaicked", "12 windows", 0)
    assert (ended.run_id, ended.is_earlier) == (str(made.run_id), False)
    (asked,) = made.asked
    assert (asked["idempotency_key"], asked["timeout"]) == (launch.key, 0)
    assert asked["flow_run_name"].startswith("scene.tif → ")


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (Completed(name="AlreadyMosaicked"), 0),
        (Completed(name="ForeignObject"), 4),
        (Failed(name="BadInput"), 2),
        (Failed(name="Incomplete"), 3),
        (Failed(name="StoreFault"), 5),
        (Crashed(), 3),
        (Cancelled(), 3),
    ],
)
def test_what_a_final_state_stands_for(
    launch: Launch, api: Any, state: "State[Any]", code: int
) -> None:
    api(state, state)
    launcher = Deployed(NAME)
    ended = launcher.wait(launch, launcher.start(launch))
    assert (ended.name, ended.exit_code, ended.is_earlier) == (state.name, code, True)


def test_a_server_that_is_away_is_asked_again(launch: Launch, api: Any) -> None:
    away = httpx.ConnectError("refused")
    made = api(away, refusal(503), Scheduled(), away, Completed(name="Mosaicked"))
    launcher = Deployed(NAME)
    assert launcher.wait(launch, launcher.start(launch)).name == "Mosaicked"
    assert len({asked["idempotency_key"] for asked in made.asked}) == 1


def test_patience_has_an_end(launch: Launch, api: Any) -> None:
    api(*[httpx.ConnectError("refused")] * 3)
    times = iter([0.0, 10.0, 20.0, 99.0])
    with pytest.raises(PrefectUnavailable, match="refused"):
        Deployed(NAME, patience_s=15, clock=lambda: next(times)).start(launch)


def test_no_such_deployment_and_bad_parameters_are_bad_input(launch: Launch, api: Any) -> None:
    api(ObjectNotFound(refusal(404)))
    with pytest.raises(InputError, match=NAME):
        Deployed(NAME).start(launch)
    api(refusal(409))
    with pytest.raises(InputError, match="does not take the parameters"):
        Deployed(NAME).start(launch)


def test_nobody_follows_after_a_stop(launch: Launch, api: Any) -> None:
    api(Running(), Running())
    launcher = Deployed(NAME)
    started = launcher.start(launch)
    launcher.stop()
    assert launcher.wait(launch, started).exit_code == 3
