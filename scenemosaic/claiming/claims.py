"""Claims: expiring permits to do expensive work once, kept as rows of the manifest.

A claim saves work and proves nothing: to lose or to outlive one is never wrong, only
wasteful, because every write that it guards carries its own condition. No clock is
compared between machines; see :mod:`scenemosaic.claiming.gate` for how a dead holder is told.
"""

import enum
import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from scenemosaic.errors import ForeignObject, InputError, TransientStoreError
from scenemosaic.manifests.port import Existing, Manifest, Row, Updated
from scenemosaic.waiting.retry import Effects, Pacer, RetryPolicy, retrying

LEASE_VARIABLE = "SCENEMOSAIC_CLAIM_LEASE_S"


class State(enum.Enum):
    """HELD until its lease has run out; FREE after a failure; DONE once the result stands."""

    HELD = "held"
    FREE = "free"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ClaimName:
    """Which work: the row's partition and sort key, and the URI of what will come of it."""

    partition: str
    name: str
    uri: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as stored. ``token`` grows with every change: it is what is compared and swapped.

    ``holder`` is one taking of the claim, not a run: no two takings share it.
    ``renewed_at`` is for people, and is compared with nothing.
    """

    name: ClaimName
    holder: str
    token: int
    state: State
    lease_s: float
    upload_id: str | None = None
    renewed_at: str = ""


@dataclass(frozen=True, slots=True)
class ClaimSettings:
    """``lease_s``: how long a holder may be silent; ``patience_s``: how long a loser waits."""

    lease_s: float = 15.0
    patience_s: float = 3600.0
    nonce: Callable[[], str] = lambda: secrets.token_hex(8)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lease_s) and self.lease_s > 0 and self.patience_s >= 0):
            raise InputError(f"a claim needs a lease of more than 0 s, not {self.lease_s}")


def settings_from(environment: Mapping[str, str]) -> ClaimSettings:
    """The defaults, with the lease that ``SCENEMOSAIC_CLAIM_LEASE_S`` may name."""
    text = environment.get(LEASE_VARIABLE)
    if text is None:
        return ClaimSettings()
    try:
        return ClaimSettings(lease_s=float(text))
    except ValueError as error:
        raise InputError(f"{LEASE_VARIABLE} is a number of seconds, not {text!r}") from error


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one manifest, taken for one run. ``now`` only dates rows for people."""

    manifest: Manifest
    settings: ClaimSettings
    policy: RetryPolicy
    effects: Effects
    now: Callable[[], str]

    def look(self, name: ClaimName) -> Claim | None:
        """The claim as it stands, or None where nobody ever took it."""
        row = retrying(
            lambda: self.manifest.get(name.partition, name.name), self.policy, self.effects
        )
        return claim_of(row) if row else None

    def take(self, name: ClaimName, run_id: str) -> tuple[Claim, bool]:
        """The claim, and whether it is ours now: it is where nobody ever took it."""
        wanted = self._new(name, run_id)
        row = self._row(wanted)
        answer = retrying(lambda: self.manifest.insert(row), self.policy, self.effects)
        stored = claim_of(answer.row) if isinstance(answer, Existing) else wanted
        # An insert whose reply was lost is refused by itself.
        return stored, stored.holder == wanted.holder

    def take_over(self, seen: Claim, run_id: str) -> Claim | None:
        """The claim where it still was as ``seen`` and is ours now. Its upload is handed down."""
        mine = self._new(seen.name, run_id)
        return self.swap(replace(mine, token=seen.token, upload_id=seen.upload_id))

    def swap(self, wanted: Claim, policy: RetryPolicy | None = None) -> Claim | None:
        """Store ``wanted`` where the claim's token is still its own; None where it is lost."""
        pacer = Pacer(policy or self.policy, self.effects)
        while True:
            row = self._row(wanted)
            try:
                answer = self.manifest.replace(row, wanted.token)
            except TransientStoreError as error:
                if not pacer.again(error.retry_after_s):
                    raise
                continue
            stored = claim_of(answer.row) if answer.row else None
            if isinstance(answer, Updated) or stored is None:
                return stored
            if stored.holder != wanted.holder:
                return None
            # The reply to an earlier change of ours was lost: go on from there.
            if _same(stored, wanted):
                return stored
            wanted = replace(wanted, token=stored.token)

    def _new(self, name: ClaimName, run_id: str) -> Claim:
        holder = f"{run_id}/{self.settings.nonce()}"
        return Claim(name, holder, 1, State.HELD, self.settings.lease_s)

    def _row(self, claim: Claim) -> Row:
        return row_of(replace(claim, renewed_at=self.now()))


def _same(stored: Claim, wanted: Claim) -> bool:
    return (stored.state, stored.upload_id) == (wanted.state, wanted.upload_id)


def row_of(claim: Claim) -> Row:
    """The claim as a row: what is no column of a row stands in the one that takes names."""
    details = {"claim": claim.state.value, "lease_s": repr(claim.lease_s)}
    if claim.upload_id is not None:
        details["upload_id"] = claim.upload_id
    return Row(
        partition=claim.name.partition,
        window=claim.name.name,
        output_uri=claim.name.uri,
        bytes=0,
        sha256=None,
        etag="",
        version_id=None,
        blocks=None,
        crc=(),
        revision=claim.token,
        written_by=claim.holder,
        written_at=claim.renewed_at,
        software=details,
    )


def claim_of(row: Row) -> Claim:
    """The claim of :func:`row_of`; ForeignObject where the row is none."""
    try:
        return Claim(
            name=ClaimName(row.partition, row.window, row.output_uri),
            holder=row.written_by,
            token=row.revision,
            state=State(row.software.get("claim")),
            lease_s=float(row.software["lease_s"]),
            upload_id=row.software.get("upload_id"),
            renewed_at=row.written_at,
        )
    except (KeyError, ValueError) as error:
        raise ForeignObject(
            f"manifest row {row.window!r} of {row.partition!r} is no claim of this pipeline; "
            "remove it by hand if nothing else needs it"
        ) from error
