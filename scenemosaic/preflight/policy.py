"""Whether a plain write to the ledger's prefix is denied, as ``scenemosaic policy`` advises.

No job relies on it: adapters never send such a write. It stops everybody else's.
"""

import logging
from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.errors import MissingCapability, PermanentStoreError, SceneMosaicError
from scenemosaic.preflight.report import Made, Verdict
from scenemosaic.stores.port import PlainProbes, Probes, Probing, Store, Version
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying

DATA = b"scenemosaic preflight: a write without a condition, which no policy denied\n"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """What became of the plain PUT, and what of it could not be taken away again."""

    verdict: Verdict
    seen: str
    left: tuple[Made, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "name": "policy",
            "title": "plain write to ledger/ denied",
            "verdict": self.verdict.value,
            "seen": self.seen,
            "left": [{"uri": one.uri, "version_id": one.version_id} for one in self.left],
        }


def check_policy(store: Store, token: str, policy: RetryPolicy, effects: Effects) -> PolicyFinding:
    """Try one unconditional PUT under a key of this preflight's own, and take it away again.

    ``token`` is 32 hex digits that nobody else has.
    """
    probes = store.probes() if isinstance(store, Probing) else None
    if probes is None or not isinstance(probes, PlainProbes):
        return PolicyFinding(
            Verdict.NOT_OFFERED,
            "this kind of store has no policy that tells a conditional write from a plain one",
        )
    key = keys.ledger_probe_key(token)
    try:
        made = retrying(lambda: probes.put_without_condition(key, DATA), policy, effects)
    except PermanentStoreError as error:
        return PolicyFinding(Verdict.ENFORCED, f"it was denied, to these credentials: {error}")
    except SceneMosaicError as error:
        found = PolicyFinding(Verdict.UNTESTED, str(error))
    else:
        found = PolicyFinding(Verdict.IGNORED, f"a plain PUT to {store.object_uri(key)} succeeded")
        _log.info("preflight made %s version %s", store.object_uri(key), made.version_id)
    return _cleaned(store, probes, found, key, policy, effects)


def _cleaned(
    store: Store,
    probes: Probes,
    found: PolicyFinding,
    key: str,
    policy: RetryPolicy,
    effects: Effects,
) -> PolicyFinding:
    """The finding, with what is left: a PUT whose reply was lost may have landed more than once."""
    left = [Version(key, None)]
    try:
        left = retrying(lambda: _versions(probes, key), policy, effects)
        for one in tuple(left):
            retrying(lambda one=one: probes.delete(key, one.version_id), policy, effects)  # type: ignore[misc]
            left.remove(one)
    except SceneMosaicError as error:
        named = tuple(Made(store.object_uri(key), one.version_id) for one in left)
        return PolicyFinding(found.verdict, f"{found.seen}; it is still there: {error}", named)
    return found


def _versions(probes: Probes, key: str) -> list[Version]:
    try:
        return [one for one in probes.versions(key) if one.key == key]
    except MissingCapability:  # then no versions are kept either
        return [Version(key, None)]
