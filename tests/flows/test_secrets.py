"""No secret reaches Prefect's records, a store, a manifest, or what a command says."""

import json
import subprocess
import sys
import urllib.error
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import boto3
import pytest

from scenemosaic import keys
from tests import servers
from tests.flows import canaries
from tests.flows.canaries import SECRETS
from tests.flows.run_canaries import BUCKET
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import (
    COMMAND_S,
    environment,
    request,
    run_command,
    serving_env,
    start_command,
)
from tests.flows.test_served import ended, start
from tests.plan.web import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SIZE = ["--window", str(WINDOW), "--block-size", str(BLOCK)]
AT_ONCE = 3
SIGNED = f"?X-Amz-Signature={quote(SECRETS['signature'], safe='')}"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "web"
    folder.mkdir()
    make_scene(folder / "scene.tif", 200, 100)
    with serving(folder) as url:
        yield url


@pytest.fixture
def aws(ministack: str) -> Iterator[Any]:
    client = servers.aws_client("s3", ministack)
    client.create_bucket(Bucket=BUCKET)
    yield client
    for name in [one["Key"] for one in listed(client)]:
        client.delete_object(Bucket=BUCKET, Key=name)


def listed(client: Any) -> list[dict[str, Any]]:
    return list(client.list_objects_v2(Bucket=BUCKET).get("Contents", ()))


class Said:
    """What commands say, and how they end."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.all: list[tuple[str, bytes]] = []

    def run(self, code: int, *arguments: str, **extra: str) -> dict[str, Any]:
        given = [*arguments, "--json", "--verbose"]
        answer = run_command(given, self.folder, {"PREFECT_API_URL": self.url, **extra})
        self.add(arguments[0], answer.out + answer.err)
        assert answer.code == code, answer.err
        return answer.value()

    def add(self, name: str, text: str) -> None:
        self.all.append((f"what {name} says", text.encode()))


def test_nothing_secret_is_kept_or_said(
    tmp_path: Path, prefect_server: str, ministack: str, aws: Any, web: str
) -> None:
    said, root = Said(tmp_path, prefect_server), tmp_path / "root"
    scene = make_scene(tmp_path / "whole.tif", 200, 100, seed=5)
    with servers.closed_port() as port:
        shut = f"http://127.0.0.1:{port}"
        job_id = _by_commands(said, root, web, scene, shut)
        _save_blocks(said, ministack, shut)
        with _served(said):
            states = _by_deployments(said, tmp_path, root, web, scene)
            _refused_at_the_door(said, root, web)
    assert states == {"open": "Backfilled", "shut": "StoreFault", "sql": "Incomplete"}

    home = Path(request(prefect_server, "admin/settings")["home"])
    records = list(canaries.rows(home / "prefect.db"))
    _are_searched(records, job_id)
    tables = boto3.client("dynamodb", endpoint_url=ministack, region_name=servers.REGION)
    objects = [
        (one["Key"], aws.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read())
        for one in listed(aws)
    ]
    items = tables.scan(TableName="canaries")["Items"]
    assert items
    assert len(objects) > 5
    logs = [(log.name, log.read_bytes()) for log in home.parent.glob("*.log")]
    everywhere = [*said.all, *records, *logs, *objects, ("dynamodb", repr(items).encode())]
    everywhere += [*canaries.files(root), *canaries.rows(root / "manifest.db")]
    assert canaries.leaks(everywhere) == []


def _by_commands(said: Said, root: Path, web: str, scene: Path, shut: str) -> str:
    """Runs in the commands' own processes, whose records are the server's; the first job's ID."""
    signed, to = f"{web}/scene.tif{SIGNED}", ["--to", str(root), *SIZE]
    value = said.run(0, "process", signed, *to)
    job_id = str(value["job_id"])
    (tile, *_) = root.glob(keys.tile_key(job_id, "*"))
    tile.unlink()
    said.run(0, "repair", job_id, "--to", str(root), "--source", signed)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failing = [pool.submit(one, said) for one in _failing(root, web, scene, shut)]
    for one in failing:
        one.result()
    return job_id


def _failing(root: Path, web: str, scene: Path, shut: str) -> Iterator[Callable[[Said], Any]]:
    """Commands that do not end well, each with its secrets."""

    def command(code: int, *arguments: str, **extra: str) -> Callable[[Said], Any]:
        return lambda said: said.run(code, *arguments, **extra)

    to = ["--to", str(root), *SIZE]
    userinfo = web.replace("//", f"//me:{quote(SECRETS['user'], safe='')}@")
    yield command(2, "process", f"{userinfo}/scene.tif", *to)
    password, port = quote(SECRETS["manifest"], safe=""), shut.rpartition(":")[2]
    rows = ["--manifest", f"postgresql+psycopg://me:{password}@127.0.0.1:{port}/x"]
    yield command(5, "process", str(scene), *to, *rows)
    deployed = ["--deployment", "process-scene/default"]
    yield command(2, "backfill", str(scene), *to, *rows, *deployed)
    rows = ["--manifest", f"postgresql+psycopg://me@127.0.0.1:{port}/x?password={password}"]
    yield command(5, "backfill", str(scene), *to, *rows)
    in_url = shut.replace("//", f"//me:{quote(SECRETS['endpoint'], safe='')}@")
    secret = {"AWS_SECRET_ACCESS_KEY": SECRETS["key"], "AWS_SESSION_TOKEN": SECRETS["token"]}
    secret |= {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_REGION": servers.REGION}
    secret |= {"AWS_ENDPOINT_URL": in_url}
    yield command(5, "process", str(scene), "--to", f"s3://{BUCKET}/root", *SIZE, **secret)
    yield command(5, "process", f"s3://{BUCKET}/a.tif", *to, **secret)
    yield command(3, "backfill", "--stac", _items(root.parent, web, userinfo), *to)
    yield command(5, "backfill", "--stac", f"{shut}/search{SIGNED}", *to)


def _items(folder: Path, web: str, userinfo: str) -> str:
    """A STAC file of one signed scene, and of three that no source may be."""
    links = [f"{web}/scene.tif{SIGNED}", f"{userinfo}/scene.tif", f"{web}/none.tif{SIGNED}"]
    features = [
        {
            "type": "Feature",
            "stac_version": "1.0.0",
            "id": str(number),
            "properties": {"datetime": "2024-05-01T10:00:00Z"},
            "geometry": None,
            "links": [],
            "assets": {"image": {"href": link, "type": "image/tiff"}},
        }
        for number, link in enumerate([*links, f"ftp://h/a.tif{SIGNED}"])
    ]
    path = folder / "items.json"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return str(path)


def _save_blocks(said: Said, endpoint: str, shut: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.flows.run_canaries", endpoint, shut],
        cwd=said.folder,
        env=environment({"PREFECT_API_URL": said.url}),
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    said.add("saving blocks", done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr


@contextmanager
def _served(said: Said) -> Iterator[None]:
    process = start_command(["serve", "--json"], said.folder, serving_env(said.url))
    assert process.stdout is not None
    try:
        assert process.stdout.readline(), process.communicate()[1]
        yield
    finally:
        process.send_signal(2)
        out, err = process.communicate(timeout=COMMAND_S)
        said.add("serve", out + err)


def _by_deployments(said: Said, folder: Path, root: Path, web: str, scene: Path) -> dict[str, str]:
    """Runs of deployments, with blocks and with a STAC file's signed links; how they end."""
    url, recipe = said.url, {"window": WINDOW, "block_size": BLOCK}
    runs = {
        "open": ("backfill_scenes", {"scenes": {"scenes": [str(scene)]}, "store": "canary-open"}),
        "shut": ("process_scene", {"sources": [str(scene)], "store": "canary-shut"}),
        "sql": ("backfill_scenes", {"scenes": {"scenes": [str(scene)]}, "store": "canary-sql"}),
    }
    begun = {
        name: start(url, flow, {**given, "recipe": recipe}) for name, (flow, given) in runs.items()
    }
    stac = {"stac": _items(folder, web, web)}
    more = [
        start(url, "backfill_scenes", {"scenes": stac, "to": str(root), "recipe": recipe}),
        start(
            url,
            "ingest_new_scenes",
            {"name": "n", "scenes": stac, "to": str(root), "store": None},
        ),
    ]
    states = {name: ended(url, run)["state_name"] for name, run in begun.items()}
    for run in more:
        ended(url, run)
    return states


def _refused_at_the_door(said: Said, root: Path, web: str) -> None:
    """What a person types into a form by mistake is no run's parameter."""
    scene, to = str(root.parent / "whole.tif"), {"to": str(root)}
    signed, user = (
        f"{web}/scene.tif{SIGNED}",
        f"s3://me:{SECRETS['user'].partition('+')[0]}@b/a.tif",
    )
    password = f"postgresql+psycopg://me:{quote(SECRETS['manifest'], safe='')}@127.0.0.1/x"
    in_query = f"postgresql://127.0.0.1/x?password={quote(SECRETS['manifest'], safe='')}"
    wrong: list[tuple[str, dict[str, Any]]] = [
        *[("process_scene", {"sources": [one], **to}) for one in (signed, user)],
        *[("backfill_scenes", {"scenes": {"scenes": [one]}, **to}) for one in (signed, user)],
        *[("backfill_scenes", {"scenes": {"stac": one}, **to}) for one in (signed, user)],
        ("ingest_new_scenes", {"name": "n", "scenes": {"prefix": user}, **to}),
        ("repair_scene", {"job_id": "ab" * 16, "sources": [signed], **to}),
        ("ingest_events", {"queue": f"https{user[2:]}/q", **to}),
        ("process_scene", {"sources": [scene], "to": user}),
        *[
            ("process_scene", {"sources": [scene], **to, "manifest": one})
            for one in (password, in_query)
        ],
    ]
    for flow, given in wrong:
        with pytest.raises(urllib.error.HTTPError) as caught:
            start(said.url, flow, given)
        caught.value.close()
        assert caught.value.code == 409, (flow, given)


def _are_searched(records: list[tuple[str, bytes]], job_id: str) -> None:
    """The search would find what stands there: the job itself does."""
    kept = {"log", "artifact", "events"}
    assert kept <= {table for table, row in records if job_id.encode() in row}
    assert {"flow_run", "flow_run_state", "task_run"} <= {table for table, _ in records}
    assert canaries.leaks([("x", b"a" + SECRETS["key"].encode())])
