"""``scenemosaic policy`` and ``init`` as people run them; no service is asked."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from flows.cli import run
from flows.commands.policy import ROLES
from scenemosaic.policy.bucket import lifecycle
from scenemosaic.policy.needs import Role
from scenemosaic.roots import parse_root
from tests.policy.conftest import ACCOUNT

Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    def call(*arguments: str) -> tuple[int, Any]:
        code = run(["policy", *arguments])
        out = capfd.readouterr().out
        return code, json.loads(out) if "--json" in arguments and out else out

    return call


def test_the_options_roles_are_the_policies_roles() -> None:
    assert tuple(role.value for role in Role) == ROLES


def test_one_json_object(command: Run) -> None:
    code, value = command("s3://bucket/root", "--account", ACCOUNT, "--json")
    assert code == 0
    assert set(value["roles"]) == set(ROLES)
    assert value["manifest"] == "dynamodb://scenemosaic-manifest"
    assert value["bucket_policy"]["Version"] == "2012-10-17"
    assert value["lifecycle"] == lifecycle(parse_root("s3://bucket/root"))
    assert value["cannot_enforce"]
    table = f"arn:aws:dynamodb:*:{ACCOUNT}:table/scenemosaic-manifest"
    assert table in json.dumps(value["roles"]["worker"])


def test_every_allowed_action_has_its_reason(command: Run) -> None:
    _, value = command("s3://bucket/root", "--json")
    allowed = {
        action
        for role in value["roles"].values()
        for one in role["iam_policy"]["Statement"]
        for action in one["Action"]
    }
    assert set(value["why"]) == allowed
    assert all(value["why"].values())


def test_a_table_of_documents_for_people(command: Run) -> None:
    code, text = command("s3://bucket/root", "--role", "worker")
    assert code == 0
    assert "role worker: iam policy" in text
    assert "bucket policy" not in text
    assert "role assembler" not in text
    assert "HeadObject: S3 answers 403" in text
    start = text.index("{")
    document, _ = json.JSONDecoder().raw_decode(text[start:])
    assert document["Statement"][0]["Effect"] == "Allow"


def test_a_local_root(command: Run) -> None:
    code, value = command("/srv/some root", "--json")
    assert (code, value["roles"], value["bucket_policy"], value["lifecycle"]) == (0, {}, None, None)
    assert any("'/srv/some root/tiles'" in line for line in value["commands"])
    assert any("no file mode tells" in line for line in value["cannot_enforce"])


def test_cloud_storage(command: Run) -> None:
    rows = ("--manifest", "postgresql+psycopg://user:secret@host/rows")
    code, value = command("gs://bucket/root", *rows, "--json")
    assert code == 0
    assert "secret" not in json.dumps(value)

    def deletes(role: str) -> str:
        bindings = value["roles"][role]["bindings"]
        return " ".join(
            one["condition"]["expression"]
            for one in bindings
            if "storage.objects.delete" in one["includedPermissions"]
        )

    # Without this permission nothing can be overwritten there.
    assert "/tiles/" not in deletes("worker")
    assert "mosaics/" not in deletes("assembler")
    assert 'endsWith("/item.json")' in deletes("repairer")
    assert "UPDATE" in value["roles"]["worker"]["grants"][1]
    assert "UPDATE" not in value["roles"]["publisher"]["grants"][1]
    assert any("ifGenerationMatch" in line for line in value["cannot_enforce"])


def test_azure(command: Run) -> None:
    code, value = command("az://box/root", "--manifest", "sqlite:///rows.db", "--json")
    assert code == 0
    roles = {name: found["role_definition"] for name, found in value["roles"].items()}
    deletes = {name for name, role in roles.items() if "blobs/delete" in str(role["DataActions"])}
    assert deletes == {"operator"}
    assert "blobs/add/action" in str(roles["worker"]["DataActions"])
    write = roles["worker"]["Condition"].split("blobs/write'")[1].split("AND ((!")[0]
    assert "root/preflight/probe" in write
    assert "tiles" not in write
    for role in roles.values():
        assert role["Condition"].count("(") == role["Condition"].count(")")


@pytest.mark.parametrize(
    "arguments",
    [("s3://bucket", "--account", "12"), ("s3://bucket", "--role", "king"), ("gs://bucket",), ()],
)
def test_bad_usage_is_exit_2(command: Run, arguments: tuple[str, ...]) -> None:
    code, out = command(*arguments)
    assert (code, out) == (2, "")
