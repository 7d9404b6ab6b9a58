"""Custom roles and conditions of Cloud Storage, and what they cannot hold. Pure.

To overwrite an object takes ``storage.objects.delete`` there: who lacks it can only
create, whatever precondition is sent or left out.
"""

from collections.abc import Mapping, Sequence

from scenemosaic.policy.needs import NEEDS, Role, Verb
from scenemosaic.roots import Root

_PERMISSIONS: Mapping[Verb, tuple[str, ...]] = {
    Verb.READ: ("storage.objects.get",),
    Verb.CREATE: ("storage.objects.create",),
    Verb.REPLACE: ("storage.objects.create", "storage.objects.delete"),
    Verb.DELETE: ("storage.objects.delete",),
}

CANNOT: tuple[str, ...] = (
    "no policy of Cloud Storage can demand ifGenerationMatch: whoever may overwrite a key may do "
    "so without a condition. Without storage.objects.delete a role can only create, whatever it "
    "sends: so worker and assembler (but for preflight/probe). Repairer, publisher and operator "
    "can overwrite, and delete, what they may replace.",
    "a condition on a resource's name does not narrow storage.objects.list: who may list sees "
    "every name in the bucket.",
    "allUsers takes no condition: to publish mosaics/ alone, make it a managed folder and grant "
    "storage.objectViewer to allUsers there; grant nothing to allUsers on the bucket.",
    "conditions on names need uniform bucket-level access.",
    "object versioning or soft delete keeps what such a role deletes; a locked retention policy "
    "would refuse the changes of item.json and of the ledger, too.",
)


def role_bindings(root: Root, role: Role) -> list[dict[str, object]]:
    """A custom role's permissions with the condition of its binding on the bucket, for each set."""
    grouped: dict[tuple[str, ...], list[str]] = {}
    for need in NEEDS[role]:
        permissions = _PERMISSIONS.get(need.verb)
        if permissions:
            grouped.setdefault(permissions, []).extend(need.areas)
    bindings = [_binding(root, role, found, areas) for found, areas in grouped.items()]
    return [*bindings, _listing(root)]


def _binding(
    root: Root, role: Role, permissions: Sequence[str], areas: Sequence[str]
) -> dict[str, object]:
    places = " || ".join(_place(root, area) for area in dict.fromkeys(areas))
    return {
        "includedPermissions": list(permissions),
        "condition": {"title": f"scenemosaic-{role.value}", "expression": places},
    }


def _listing(root: Root) -> dict[str, object]:
    bucket = f"projects/_/buckets/{root.bucket}"
    return {
        "includedPermissions": ["storage.objects.list"],
        "condition": {"title": "scenemosaic-list", "expression": f'resource.name == "{bucket}"'},
    }


def _place(root: Root, area: str) -> str:
    """The condition that a resource's name lies in an area: a beginning and perhaps an end."""
    head, _, tail = area.partition("*")
    name = f"projects/_/buckets/{root.bucket}/objects/" + (f"{root.prefix}/" if root.prefix else "")
    begins = f"resource.name.startsWith({_quoted(name + head)})"
    return f"({begins} && resource.name.endsWith({_quoted(tail)}))" if tail else begins


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
