"""What a command must not import: each of these takes longer than planning a scene."""

import subprocess
import sys

import pytest

CLOUDS = ("prefect_aws", "prefect_azure", "prefect_gcp", "google.cloud", "azure.storage", "docker")
SERVER = ("prefect.server.api", "uvicorn", "alembic")


@pytest.mark.parametrize("module", ["flows.cli", "flows.verbs.process", "flows.process"])
def test_a_local_run_imports_no_cloud_and_no_server(module: str) -> None:
    ask = f"import sys, {module}; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=120
    )
    assert not {*CLOUDS, *SERVER} & set(answer.stdout.split())


def test_the_command_line_imports_neither_prefect_nor_gdal() -> None:
    ask = "import sys, flows.cli; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=120
    )
    assert not {"prefect", "rasterio", "numpy", "boto3"} & set(answer.stdout.split())


def test_what_looks_at_a_job_or_assembles_it_loads_nothing_that_plans_or_warps() -> None:
    modules = "scenemosaic.stored_job, scenemosaic.publishing.publish"
    ask = f"import sys, {modules}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True
    ).stdout.split()
    costly = ("planning", "compositing.warping", "bandmath.evaluate", "windows", "job")
    assert not {f"scenemosaic.{name}" for name in costly} & set(loaded)


def test_what_works_on_local_files_loads_no_boto3() -> None:
    ask = (
        "from scenemosaic.machine.without_boto3 import rasterio_without_boto3 as hide; hide(); "
        "import sys, flows.cli, flows.verbs.process, scenemosaic.stores.local, "
        "scenemosaic.manifests.sql; early = 'boto3' in sys.modules; "
        "from rasterio.session import AWSSession; import boto3; "
        "keys = AWSSession(boto3.Session('key', 'secret')).get_credential_options(); "
        "print(early, keys['AWS_ACCESS_KEY_ID'])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=120
    )
    assert answer.stdout.split() == ["False", "key"]
