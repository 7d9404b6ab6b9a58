"""A job whose store and manifest are reached as a block says, and not as the environment does."""

import os
from pathlib import Path

import boto3
import pytest

from scenemosaic import job
from scenemosaic.access import Access, register
from scenemosaic.errors import PermanentStoreError
from scenemosaic.places import ManifestPlace, Place, StorePlace
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.session import Run
from scenemosaic.verification.verify import verify
from tests import servers
from tests.flows.scenes import make_scene

BUCKET = "reached-by-block"
RUN = Run("run", "run")


def _session(name: str) -> boto3.Session:
    return boto3.Session("AKIDEXAMPLE", name, region_name=servers.REGION)


@pytest.fixture
def place(ministack: str) -> Place:
    """A bucket of which the environment knows neither endpoint nor credentials."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    register("test-session", _session)
    access = Access(credentials="test-session/secret", endpoint=ministack, region=servers.REGION)
    client = _session("secret").client("s3", endpoint_url=ministack)
    client.create_bucket(Bucket=BUCKET)
    rows = ManifestPlace("dynamodb://reached-by-block", access)
    return Place(StorePlace(f"s3://{BUCKET}/root", access), rows)


def test_everything_of_a_job_goes_where_the_block_says(place: Place, tmp_path: Path) -> None:
    scene = make_scene(tmp_path / "scene.tif")
    client = _session("secret").client("s3", endpoint_url=place.store.access.endpoint)
    client.upload_file(str(scene), BUCKET, "in/scene.tif")

    spec = job.plan_at([f"s3://{BUCKET}/in/scene.tif"], place, PlanOptions(window=512))
    job.prepare(spec)
    job.publish_plan(spec, RUN)
    done = job.commit_windows(spec, job.missing_windows(spec), RUN)
    assert {one.outcome for one in done.outcomes} == {"written"}
    assert job.assemble(spec, RUN).outcome == "written"
    assert verify(job.load_at(spec.plan.job_id, place)).is_sound


def test_without_the_block_there_is_no_way_in(place: Place, tmp_path: Path) -> None:
    scene = make_scene(tmp_path / "scene.tif")
    spec = job.plan_job([str(scene)], place.store.root, place.manifest.url, PlanOptions())
    with pytest.raises(PermanentStoreError, match="no AWS credentials"):
        job.publish_plan(spec, RUN)
