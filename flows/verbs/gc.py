"""``scenemosaic gc``: lists abandoned uploads under a root, and ends them when told to."""

from collections import Counter
from collections.abc import Sequence

from flows.reports.scene import error_json
from flows.terminal.console import Console
from scenemosaic import gc
from scenemosaic.ages import age_s, spell_age
from scenemosaic.errors import StoreError
from scenemosaic.gc import Found
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.places import ManifestPlace, StorePlace, manifest_at
from scenemosaic.roots import Root, check_there, default_manifest, has_outputs, parse_root
from scenemosaic.stores import open_store
from scenemosaic.waiting.retry import RetryPolicy, system_effects


def collect(
    place: StorePlace,
    manifest: ManifestPlace | None,
    older_than: str,
    abort: bool,
    console: Console,
) -> int:
    """List what was abandoned; with ``abort`` end it. The exit code.

    A ``manifest`` of None is the root's default one, where it comes to need any.
    """
    older_than_s = age_s(older_than, "--older-than")
    check_there(place.root)
    root = parse_root(place.root)
    store, opened = open_store(place.root, place.access), list[Manifest]()

    def rows() -> Manifest:
        found = manifest or manifest_at(default_manifest(root))
        opened.append(open_manifest(found.url, found.access))
        return opened[-1]

    policy, effects = RetryPolicy(), system_effects()
    try:
        found = gc.abandoned(store, older_than_s, policy, effects)
        if found and abort:
            found = gc.end_all(store, found, rows, policy, effects)
    finally:
        store.close()
        for manifest_rows in opened:
            manifest_rows.close()
    return _answer(root, found, older_than_s, abort, console)


def _answer(
    root: Root, found: Sequence[Found] | None, older_than_s: int, abort: bool, console: Console
) -> int:
    note = gc.ENDS_BY_ITSELF.get(root.scheme) if found is None else None
    value: dict[str, object] = {
        "root": root.uri,
        "older_than_s": older_than_s,
        "abort": abort,
        "uploads": [_as_json(one) for one in found or ()],
        "ended": sum(one.fate == "ended" for one in found or ()),
        "note": note,
    }
    failures = [one.error for one in found or () if one.error is not None]
    if failures:
        error = _summed(failures)
        return console.fail(error, {**value, **error_json(error)})
    console.answer(value, note or _as_text(root, found or (), older_than_s, abort))
    return 0


def _summed(failures: Sequence[StoreError]) -> StoreError:
    more = f" (and {len(failures) - 1} more could not be ended)" if len(failures) > 1 else ""
    return StoreError(f"{failures[0]}{more}")


def _as_json(one: Found) -> dict[str, object]:
    upload = one.upload
    return {
        "key": upload.key,
        "upload_id": upload.upload_id,
        "age_s": round(upload.age_s),
        "outcome": one.fate,
        "error": None if one.error is None else str(one.error),
    }


def _as_text(root: Root, found: Sequence[Found], older_than_s: int, abort: bool) -> str:
    if not found:
        if root.scheme == "file" and not has_outputs(root):
            return f"nothing of scenemosaic is under {root.uri}: is the root spelled right?"
        return (
            f"no upload under {root.uri} is older than {spell_age(older_than_s)} "
            "(--older-than): nothing was abandoned"
        )
    lines = [
        f"{one.fate:9}  {spell_age(one.upload.age_s):>7}  {one.upload.key}  {one.upload.upload_id}"
        for one in found
    ]
    counts = Counter(one.fate for one in found)
    lines.append(", ".join(f"{count} {fate}" for fate, count in counts.items()))
    if not abort:
        lines.append("--abort ends them")
    return "\n".join(lines)
