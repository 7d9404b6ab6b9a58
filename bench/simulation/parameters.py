"""What a simulation assumes. Nothing else decides its result."""

from dataclasses import dataclass

from scenemosaic.claiming.claims import ClaimSettings
from scenemosaic.keys import WINDOWS_PER_SHARD
from scenemosaic.waiting.retry import RetryPolicy

_CLAIM = ClaimSettings()
_RETRY = RetryPolicy()


@dataclass(frozen=True, slots=True)
class Parameters:
    """Seconds, rates per second or per worker and hour, and shares of 1.

    The retry policy, the windows of a shard and the claim's lease are the product's own.
    """

    seed: int = 1
    workers: int = 1_000
    windows: int = 40_000
    batch: int = 10  # windows that are delivered together
    in_order: bool = False  # as they are numbered; else dealt over all shards, as the product does
    window_s: float = 4.0  # to read and encode a window: median, log-normal
    window_sigma: float = 0.3
    # What goes wrong.
    duplicates: float = 0.01  # deliveries that come twice
    duplicate_within_s: float = 30.0
    lease_s: float = 60.0  # of a delivery; renewed every third of it
    deaths_per_h: float = 0.1
    restart_s: float = 30.0
    stalls_per_h: float = 0.1  # a machine that stands still, and comes back
    stall_s: float = 60.0  # mean, exponential
    lost: float = 0.001  # requests whose reply is lost: a third each never arrive,
    late_s: float = 30.0  # land, and land up to so much later
    timeout_s: float = 10.0  # until a lost reply is noticed
    # Object store.
    put_s: float = 0.08  # median, log-normal; so are the other latencies
    head_s: float = 0.02
    latency_sigma: float = 0.5
    puts_per_s: float = 3_500.0  # of a prefix; answered with 503 beyond
    prefixes: int = 1
    # Manifest.
    ask_s: float = 0.05
    row_s: float = 0.008
    row_units: int = 1  # write units of a row: one a started KB, and few rows have more
    partition_units_per_s: float = 1_000.0  # throttled beyond; a partition is a shard
    table_units_per_s: float = 4_000.0
    shard: int = WINDOWS_PER_SHARD
    paced: bool = True  # each worker keeps its own pace, as scenemosaic/manifests/write_units.py
    retry: RetryPolicy = _RETRY
    # Assembly.
    assemblers: int = 8
    assembly_s: float = 60.0
    claim_lease_s: float = _CLAIM.lease_s
