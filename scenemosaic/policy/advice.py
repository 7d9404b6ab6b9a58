"""Everything that ``scenemosaic policy`` has to say of one root and manifest. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scenemosaic.errors import InputError
from scenemosaic.policy import azure, bucket, gcs, local, rows, s3
from scenemosaic.policy.documents import Statement, document
from scenemosaic.policy.needs import Role
from scenemosaic.policy.uses import why
from scenemosaic.roots import ManifestUrl, Root

_ACCOUNT = re.compile(r"[0-9]{12}")
_CANNOT: Mapping[str, tuple[str, ...]] = {
    "s3": s3.CANNOT,
    "gs": gcs.CANNOT,
    "az": azure.CANNOT,
    "file": local.CANNOT,
}


@dataclass(frozen=True, slots=True)
class Advice:
    """Policies by role, the bucket's own, its lifecycle, and what none of it can enforce.

    ``commands`` are for a shell or a database. ``why`` names the requests behind each
    action that a role is allowed.
    """

    roles: Mapping[str, Mapping[str, object]]
    bucket_policy: Mapping[str, object] | None
    lifecycle: Mapping[str, object] | None
    commands: Sequence[str]
    why: Mapping[str, Sequence[str]]
    cannot: Sequence[str]

    def to_json(self) -> dict[str, object]:
        return {
            "roles": self.roles,
            "bucket_policy": self.bucket_policy,
            "lifecycle": self.lifecycle,
            "commands": list(self.commands),
            "why": {action: list(reasons) for action, reasons in self.why.items()},
            "cannot_enforce": list(self.cannot),
        }


def advise(
    root: Root, manifest: ManifestUrl, role: Role | None = None, account: str | None = None
) -> Advice:
    """What the root's provider offers, for one role or for all with what is the bucket's.

    Raises InputError for an account that is no AWS account's number.
    """
    if account is not None and not _ACCOUNT.fullmatch(account):
        raise InputError(f"--account {account!r}: an AWS account's ID has 12 digits")
    roles = {one: _of_role(root, manifest, one, account) for one in ((role,) if role else Role)}
    whole = root.scheme == "s3" and role is None
    actions = {action for found in roles.values() for action in found.actions}
    return Advice(
        roles={one.value: found.offered for one, found in roles.items() if found.offered},
        bucket_policy=bucket.bucket_policy(root, account, aws_partition(manifest.region))
        if whole
        else None,
        lifecycle=bucket.lifecycle(root) if whole else None,
        commands=_commands(root, manifest),
        why={action: why(action) for action in sorted(actions)},
        cannot=(*_CANNOT[root.scheme], *rows.CANNOT[rows.kind(manifest)]),
    )


@dataclass(frozen=True, slots=True)
class _OfRole:
    """A role's policies by what takes them, and the AWS actions that they allow."""

    offered: Mapping[str, object]
    actions: frozenset[str]


def _of_role(root: Root, manifest: ManifestUrl, role: Role, account: str | None) -> _OfRole:
    partition, kind = aws_partition(manifest.region), rows.kind(manifest)
    offered: dict[str, object] = {}
    statements: tuple[Statement, ...] = ()
    if root.scheme == "s3":
        statements = s3.role_statements(root, role, partition)
    elif root.scheme == "gs":
        offered["bindings"] = gcs.role_bindings(root, role)
    elif root.scheme == "az":
        offered["role_definition"] = azure.role_definition(root, role)
    if kind == "dynamodb":
        statements += rows.table_statements(root, manifest, role, account, partition)
    elif kind == "postgresql":
        offered["grants"] = list(rows.grants(role))
    if statements:
        offered["iam_policy"] = document(statements)
    return _OfRole(offered, frozenset(name for one in statements for name in one.actions))


def _commands(root: Root, manifest: ManifestUrl) -> list[str]:
    found = local.commands(root) if root.scheme == "file" else []
    file = manifest.url.partition(":///")[2].partition("?")[0]
    return [*found, local.manifest_command(file)] if rows.kind(manifest) == "sqlite" else found


def aws_partition(region: str | None) -> str:
    """The AWS partition that a region belongs to; the common one where none is known."""
    if region and region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region and region.startswith("us-gov-") else "aws"
