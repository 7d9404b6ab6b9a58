"""Who has to do what, in this project's own words; each provider's policy is made of it. Pure."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from scenemosaic.keys import CATALOG_KEY, POINTER_KEY


class Role(enum.Enum):
    """One set of permissions. ``process`` plans, encodes and assembles: worker and assembler."""

    WORKER = "worker"
    ASSEMBLER = "assembler"
    REPAIRER = "repairer"
    PUBLISHER = "publisher"
    OPERATOR = "operator"


class Verb(enum.Enum):
    """What is done to objects whose keys match an area; every role may list the root."""

    READ = "read"
    CREATE = "create where absent"
    REPLACE = "replace by ETag"
    SEND_PARTS = "send a large object in parts"
    END_UPLOADS = "end abandoned uploads"
    LIST_VERSIONS = "list versions"
    PROBE = "put without a condition"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Need:
    """A verb for the keys below the root that match one of ``areas`` (``*`` is any text)."""

    verb: Verb
    areas: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowNeed:
    """What is done to manifest rows; ``delete`` reaches a preflight's own rows alone."""

    write: bool = True
    make: bool = False
    delete: bool = False


EVERYTHING = "*"
AUDIT, JOBS, LEDGER, TILES, MOSAICS, STAGES = (
    f"{name}/*" for name in ("audit", "jobs", "ledger", "tiles", "mosaics", "stages")
)
ITEMS = "mosaics/*/item.json"
PLANS = "jobs/*/plan.json"
TOP_BOXES = "stages/*/top-*"
LEDGERS = "ledger/*.json"
PUBLISHED = (CATALOG_KEY, POINTER_KEY)
# What each run asks a root once, and what only the full preflight does.
QUICK_PROBE = "preflight/probe"
OWN_PROBES = "preflight/*"
LEDGER_PROBE = "ledger/preflight-*"

# Nobody who is not signed in reads these, and nobody at all deletes those.
PRIVATE = (AUDIT, JOBS, LEDGER, STAGES, TILES)
KEPT = (AUDIT, JOBS, LEDGERS, TILES, MOSAICS)

_ASKS_ONCE = (
    Need(Verb.READ, (QUICK_PROBE,)),
    Need(Verb.CREATE, (QUICK_PROBE,)),
    Need(Verb.REPLACE, (QUICK_PROBE,)),
)

NEEDS: Mapping[Role, tuple[Need, ...]] = {
    Role.WORKER: (
        *_ASKS_ONCE,
        Need(Verb.READ, (AUDIT, JOBS, MOSAICS, TILES, TOP_BOXES)),
        Need(Verb.LIST_VERSIONS, (EVERYTHING,)),
        Need(Verb.CREATE, (AUDIT, JOBS, TILES, TOP_BOXES)),
    ),
    Role.ASSEMBLER: (
        Need(Verb.READ, (AUDIT, JOBS, MOSAICS, STAGES, TILES)),
        Need(Verb.LIST_VERSIONS, (EVERYTHING,)),
        Need(Verb.CREATE, (AUDIT, MOSAICS, STAGES)),
        Need(Verb.SEND_PARTS, (MOSAICS, STAGES)),
    ),
    Role.REPAIRER: (
        Need(Verb.READ, (AUDIT, JOBS, MOSAICS, STAGES, TILES)),
        Need(Verb.LIST_VERSIONS, (EVERYTHING,)),
        Need(Verb.CREATE, (AUDIT, MOSAICS, PLANS, STAGES, TILES)),
        Need(Verb.REPLACE, (ITEMS, PLANS, TILES)),
        Need(Verb.SEND_PARTS, (MOSAICS, STAGES)),
    ),
    Role.PUBLISHER: (
        Need(Verb.READ, (AUDIT, JOBS, LEDGERS, MOSAICS)),
        Need(Verb.LIST_VERSIONS, (EVERYTHING,)),
        Need(Verb.CREATE, (AUDIT, LEDGERS, *PUBLISHED)),
        Need(Verb.REPLACE, (LEDGERS, *PUBLISHED)),
    ),
    Role.OPERATOR: (
        Need(Verb.READ, (EVERYTHING,)),
        Need(Verb.LIST_VERSIONS, (EVERYTHING,)),
        Need(Verb.CREATE, (AUDIT, OWN_PROBES, TILES)),
        Need(Verb.REPLACE, (LEDGERS, OWN_PROBES)),
        Need(Verb.SEND_PARTS, (OWN_PROBES,)),
        Need(Verb.END_UPLOADS, (MOSAICS, STAGES)),
        Need(Verb.PROBE, (LEDGER_PROBE,)),
        Need(Verb.DELETE, (LEDGER_PROBE, OWN_PROBES)),
    ),
}
ROW_NEEDS: Mapping[Role, RowNeed] = {
    Role.WORKER: RowNeed(),
    Role.ASSEMBLER: RowNeed(),
    Role.REPAIRER: RowNeed(),
    Role.PUBLISHER: RowNeed(write=False),
    Role.OPERATOR: RowNeed(make=True, delete=True),
}
