"""Commands that messages suggest can be typed as they stand."""

import pytest

from scenemosaic.next_step import command
from scenemosaic.places import place_at

JOB = "ab" * 16


@pytest.mark.parametrize(
    ("root", "manifest", "more"),
    [
        ("/data/out", None, ""),
        ("/data/out", "sqlite:////data/out/manifest.db", ""),
        ("/data/out", "sqlite:////data/rows.db", " --manifest sqlite:////data/rows.db"),
        ("s3://bucket/p", None, ""),
        ("s3://bucket/p", "dynamodb://scenemosaic-manifest", ""),
        ("s3://bucket/p", "dynamodb://rows", " --manifest dynamodb://rows"),
        (
            "s3://bucket/p",
            "dynamodb://rows?region=eu-central-1",
            " --manifest 'dynamodb://rows?region=eu-central-1'",
        ),
        ("gs://bucket/p", "dynamodb://rows", " --manifest dynamodb://rows"),
        (
            "az://container/p",
            "postgresql+psycopg://u:s3cret@h:5432/d?sslmode=require&sslpassword=s3cret",
            " --manifest 'postgresql+psycopg://u@h:5432/d?sslmode=require'",
        ),
    ],
)
def test_a_manifest_is_named_where_it_is_not_the_root_s(
    root: str, manifest: str | None, more: str
) -> None:
    place = place_at(root, manifest)
    said = root if "://" in root else f"file://{root}"
    assert command("verify", JOB, place) == f"scenemosaic verify {JOB} --to {said}{more}"


def test_what_a_shell_would_take_apart_is_quoted() -> None:
    place = place_at("s3://bucket/a b", "dynamodb://rows")
    assert command("repair", JOB, place, "--window", "0000_0001") == (
        f"scenemosaic repair {JOB} --window 0000_0001 --to 's3://bucket/a b' "
        "--manifest dynamodb://rows"
    )
