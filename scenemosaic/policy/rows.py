"""What each role may do in the manifest: a table's statements, or a database's grants. Pure."""

from collections.abc import Mapping

from scenemosaic import keys
from scenemosaic.policy.documents import Statement
from scenemosaic.policy.needs import ROW_NEEDS, Role
from scenemosaic.roots import ManifestUrl, Root

# What `ready` asks for: a key that no row has.
READY_PARTITION = "scenemosaic"

CANNOT: Mapping[str, tuple[str, ...]] = {
    "dynamodb": (
        "a DynamoDB policy cannot demand a condition: whoever may put an item may overwrite a row "
        "of this root. verify compares every row with its object.",
    ),
    "postgresql": (
        "a grant cannot demand a condition: whoever may UPDATE rows may change those of every job.",
    ),
    "sqlite": (
        "SQLite knows no users: whoever may write its file may change or delete every row.",
    ),
}


def kind(manifest: ManifestUrl) -> str:
    """``dynamodb``, ``sqlite`` or ``postgresql``."""
    if manifest.kind == "dynamodb":
        return manifest.kind
    return "sqlite" if manifest.url.startswith("sqlite") else "postgresql"


def table_arn(manifest: ManifestUrl, account: str | None, partition: str = "aws") -> str:
    """The table's ARN; a region or account that is not known stays open (``*``)."""
    region = manifest.region or "*"
    return f"arn:{partition}:dynamodb:{region}:{account or '*'}:table/{manifest.table}"


def table_statements(
    root: Root, manifest: ManifestUrl, role: Role, account: str | None, partition: str = "aws"
) -> tuple[Statement, ...]:
    """The statements on DynamoDB of one role's identity policy, held to the root's own rows."""
    need, table = ROW_NEEDS[role], (table_arn(manifest, account, partition),)
    own = _leading([keys.PROBE_PARTITION, READY_PARTITION, *row_partitions(root)])
    # Whoever writes rows looks at single ones, too.
    actions = *(("dynamodb:GetItem",) if need.write else ()), "dynamodb:Query"
    found = [Statement("ReadRows", actions, table, own)]
    if need.write:
        found.append(Statement("WriteRows", ("dynamodb:PutItem",), table, own))
    if need.delete:
        probes = _leading([keys.probe_partition("*")])
        verbs = ("dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem")
        found.append(Statement("ProbeRows", verbs, table, probes))
    if need.make:
        found.append(Statement("MakeTable", ("dynamodb:CreateTable",), table))
    return tuple(found)


def row_partitions(root: Root) -> tuple[str, str]:
    """Patterns of the partitions with a root's rows and claims: the first shard, and more."""
    first = keys.partition("*", root.uri)
    return first, f"{first}#*"


def _leading(patterns: list[str]) -> dict[str, dict[str, str | list[str]]]:
    # ForAllValues holds where there is no such key at all, so that it must be there as well.
    return {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": patterns},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }


def grants(role: Role) -> tuple[str, ...]:
    """PostgreSQL's grants to a role of the same name; the schema's owner runs ``init``."""
    need, name = ROW_NEEDS[role], f"scenemosaic_{role.value}"
    verbs = ["SELECT", *(["INSERT", "UPDATE"] if need.write else [])]
    verbs += ["DELETE"] if need.delete else []
    return (
        f"GRANT SELECT ON manifest_schema TO {name};",
        f"GRANT {', '.join(verbs)} ON manifest_rows TO {name};",
    )
