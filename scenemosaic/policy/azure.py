"""Role definitions and conditions of Azure Blob Storage, and what they cannot hold. Pure.

``blobs/add/action`` lets a new blob be written in one request and overwrites none;
block lists, which large mosaics are, take ``blobs/write``, which does.
"""

from collections.abc import Mapping, Sequence

from scenemosaic.policy.needs import NEEDS, Role, Verb
from scenemosaic.roots import Root

_CONTAINER = "Microsoft.Storage/storageAccounts/blobServices/containers"
_BLOBS = f"{_CONTAINER}/blobs"
_READ, _CREATE, _WRITE, _DELETE = (
    f"{_BLOBS}/{name}" for name in ("read", "add/action", "write", "delete")
)
_ACTIONS: Mapping[Verb, str] = {
    Verb.READ: _READ,
    Verb.CREATE: _CREATE,
    Verb.REPLACE: _WRITE,
    Verb.SEND_PARTS: _WRITE,
    Verb.DELETE: _DELETE,
}
_SCOPE = (
    "/subscriptions/SUBSCRIPTION/resourceGroups/GROUP"
    "/providers/Microsoft.Storage/storageAccounts/ACCOUNT"
)

CANNOT: tuple[str, ...] = (
    "no policy of Azure can demand If-None-Match or If-Match: whoever has blobs/write for a path "
    "may overwrite it without a condition. For its tiles a worker has blobs/add/action alone, and "
    "can only create; assembler and repairer need blobs/write, since mosaics are block lists.",
    "account keys and account SAS pass by every role and condition: allow no shared-key access "
    "(allowSharedKeyAccess: false) and give the workers identities of their own.",
    "public access is a matter of a whole container: keep this one private, and serve mosaics/ "
    "from another container, a CDN or by SAS.",
    "blob versioning and soft delete keep what such a role overwrites or deletes; an immutability "
    "policy would refuse the changes of item.json and of the ledger, too.",
)


def role_definition(root: Root, role: Role) -> dict[str, object]:
    """A custom role and the condition of its assignment; the scope's names are to be filled in."""
    areas: dict[str, list[str]] = {}
    for need in NEEDS[role]:
        action = _ACTIONS.get(need.verb)
        if action:
            areas.setdefault(action, []).extend(need.areas)
    return {
        "Name": f"scenemosaic {role.value}",
        "IsCustom": True,
        "Actions": [],
        "DataActions": list(areas),
        "AssignableScopes": [_SCOPE],
        "Condition": " AND ".join(
            [*(_on_paths(root, *one) for one in areas.items()), _on_listing(root)]
        ),
        "ConditionVersion": "2.0",
    }


def _on_paths(root: Root, action: str, areas: Sequence[str]) -> str:
    below = f"{root.prefix}/" if root.prefix else ""
    paths = [
        f"@Resource[{_BLOBS}:path] StringLike '{_quoted(below)}{area}'"
        for area in dict.fromkeys(areas)
    ]
    listing = " AND NOT SubOperationMatches{'Blob.List'}" if action == _READ else ""
    return (
        f"((!(ActionMatches{{'{action}'}}{listing})) OR ({_here(root)} AND ({' OR '.join(paths)})))"
    )


def _on_listing(root: Root) -> str:
    below = f"{root.prefix}/" if root.prefix else ""
    listing = f"ActionMatches{{'{_READ}'}} AND SubOperationMatches{{'Blob.List'}}"
    prefix = f" AND @Request[{_BLOBS}:prefix] StringStartsWith '{_quoted(below)}'" if below else ""
    return f"((!({listing})) OR ({_here(root)}{prefix}))"


def _here(root: Root) -> str:
    return f"@Resource[{_CONTAINER}:name] StringEquals '{root.bucket}'"


def _quoted(text: str) -> str:
    return text.replace("'", "\\'")
