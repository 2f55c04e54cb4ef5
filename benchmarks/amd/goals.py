"""What the counters of the suite are wanted to be on gfx942."""

from __future__ import annotations

from collections.abc import Iterator

from rows import CountedKernel

MOST_TRANSACTIONS, MOST_TRANSACTIONS_TRANSPOSED = 1.05, 1.1
MOST_VALU_CYCLES_PER_KB = 400
FEWEST_BYTES_IN_FLIGHT = 17_000
# A kernel that moves less of its graph's bytes (the combination of segments) is not bound by memory.
MEMORY_BOUND_SHARE = 0.05


def missed_goals(row: CountedKernel) -> Iterator[str]:
    counters = row.counters
    is_transpose = row.template == "pointwise_tiled"
    most = MOST_TRANSACTIONS_TRANSPOSED if is_transpose else MOST_TRANSACTIONS
    if row.share_of_bytes < MEMORY_BOUND_SHARE:
        return
    if counters.segments64 > most:
        yield f"{counters.segments64:.2f} times the fewest transactions"
    if counters.lds_conflict_cycles and not is_transpose:
        yield f"{counters.lds_conflict_cycles} LDS conflict cycles"
    if counters.bytes_in_flight < FEWEST_BYTES_IN_FLIGHT:
        yield f"{counters.bytes_in_flight / 1000:.1f} KB in flight"
    if row.valu_cycles_per_kb > MOST_VALU_CYCLES_PER_KB:
        yield f"{row.valu_cycles_per_kb:.0f} VALU cycles per KB"
