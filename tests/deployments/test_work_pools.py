"""Work pools' templates, the image and the table of memory: consistent, and known to Prefect.

No image is built here, and no container or ECS task is started.
"""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
import yaml
from prefect.utilities.templating import apply_values
from prefect_aws.workers.ecs_worker import ECSJobConfiguration, ECSWorker

from deployments import resources
from scenemosaic import __version__
from tests.flows.serving import REPOSITORY

FOLDER = REPOSITORY / "deployments"
KINDS = ("docker", "ecs")
KNOWN = "server/api/collections_data/views/aggregate-worker-metadata.json"


def template(kind: str) -> dict[str, Any]:
    value = json.loads((FOLDER / f"{kind}-work-pool.json").read_text())
    assert isinstance(value, dict)
    return value


def properties(value: dict[str, Any]) -> dict[str, Any]:
    found = value["variables"]["properties"]
    assert isinstance(found, dict)
    return found


def theirs(kind: str) -> dict[str, Any]:
    """The template that the kind's own worker has."""
    if kind == "ecs":
        return ECSWorker.get_default_base_job_template()
    known = json.loads(files("prefect").joinpath(KNOWN).read_text())
    found = known["prefect-docker"]["docker"]["default_base_job_configuration"]
    assert isinstance(found, dict)
    return found


def placeholders(value: object) -> Iterator[str]:
    yield from re.findall(r"{{ (\w+) }}", json.dumps(value))


@pytest.mark.parametrize("kind", KINDS)
def test_the_worker_knows_every_variable(kind: str) -> None:
    ours, known = template(kind), theirs(kind)
    used = set(placeholders(ours["job_configuration"]))
    assert used == set(properties(ours))
    assert used <= set(properties(known))
    assert set(ours["job_configuration"]) <= set(known["job_configuration"])
    for name, one in properties(ours).items():
        said = properties(known)[name]
        assert one.get("enum") == said.get("enum"), name
        types = [choice["type"] for choice in said.get("anyOf", [said]) if "type" in choice]
        assert one.get("type", one.get("anyOf", [{}])[0].get("type")) in types, name


@pytest.mark.parametrize("kind", KINDS)
def test_the_image_is_the_dockerfiles(kind: str) -> None:
    image = properties(template(kind))["image"]["default"]
    assert image == f"scenemosaic:{__version__}"
    assert f"-t {image} " in (FOLDER / "Dockerfile").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_runs_have_what_prefect_yaml_gives_them(kind: str) -> None:
    said = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text())
    for one in said["deployments"]:
        given = one["work_pool"]["job_variables"]
        assert given.keys() <= properties(template(kind)).keys()
        assert given["env"] == properties(template(kind))["env"]["default"]


def test_ecs_takes_the_template() -> None:
    defaults = {n: v["default"] for n, v in properties(template("ecs")).items() if "default" in v}
    values = {name: value for name, value in defaults.items() if value is not None}
    filled = apply_values(template("ecs")["job_configuration"], values | {"memory": 8192})
    made = ECSJobConfiguration.model_validate(filled)
    assert made.task_definition["memory"] == 8192
    assert made.task_definition["cpu"] == 2048
    assert made.task_definition["containerDefinitions"][0]["image"].startswith("scenemosaic:")


def test_the_image_holds_what_the_product_is_made_of() -> None:
    lines = (FOLDER / "Dockerfile").read_text().splitlines()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    assert all((REPOSITORY / name).exists() for name in copied)
    packages = re.search(r"include = \[(.*)\]", (REPOSITORY / "pyproject.toml").read_text())
    assert packages is not None
    assert {name.strip(' "*') for name in packages[1].split(",")} <= set(copied)


def test_the_table_is_what_the_engine_says() -> None:
    assert resources.table() in (FOLDER / "README.md").read_text()


def test_the_templates_memory_is_enough_for_all_of_the_table() -> None:
    most = max(
        resources.needed_mib(s, *scene) for s in resources.SIDES for scene in resources.SCENES
    )
    assert most <= properties(template("ecs"))["memory"]["default"] == 4096
    assert properties(template("docker"))["mem_limit"]["default"] == "4g"
