"""Rows of the tables, and how they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulated_launch import Counters, Prediction

LIMITS = {"vgprs": "registers", "sgprs": "registers", "lds": "LDS", "waves": "",
          "workgroups": "work-groups"}


@dataclass(frozen=True)
class CountedKernel:
    graph: str
    index: int  # of the kernel in its graph
    template: str
    elements: int  # of the size that was executed
    is_full_schedule: bool  # the schedule is that of the full size
    bytes_moved: int  # to and from memory, as `kiln explain` says: shared operands once
    share_of_bytes: float  # of the bytes that all kernels of the graph move
    counters: Counters

    @property
    def valu_cycles_per_kb(self) -> float:
        return self.counters.valu_cycles / (self.bytes_moved / 1024)


@dataclass(frozen=True)
class PredictedGraph:
    graph: str
    kernels: list[Prediction]
    bytes_moved: int

    @property
    def us(self) -> float:
        return sum(kernel.us for kernel in self.kernels)

    def share(self, kind: str) -> float:
        """Of the waves' life, kernels weighted by their time."""
        return sum(k.us * k.wave_time.get(kind, 0.0) for k in self.kernels) / self.us

    @property
    def valu_busy(self) -> float:
        return sum(k.us * k.valu_busy for k in self.kernels) / self.us


def table(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Markdown whose columns line up; all but the first are numbers."""
    rows = [list(headings), *(list(row) for row in cells)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(headings))]

    def line(row: Sequence[str]) -> str:
        padded = [text.ljust(width) if column == 0 else text.rjust(width)
                  for column, (text, width) in enumerate(zip(row, widths))]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(rows[0]), line(rule), *(line(row) for row in rows[1:])])


COUNTER_HEADINGS = ("kernel", "elements", "block", "VGPRs", "64-byte segments", "128-byte lines",
                    "LDS conflicts", "VALU cycles/KB", "of KB asked", "KB in flight/CU", "waves/SIMD")


def counter_cells(row: CountedKernel) -> tuple[str, ...]:
    counters = row.counters
    name = row.graph if row.index == 0 else f"{row.graph}, kernel {row.index + 1}"
    limit = LIMITS.get(counters.limit, counters.limit)
    return (
        name,
        f"{row.elements / (1 << 20):g} Mi" + ("" if row.is_full_schedule else " *"),
        f"{counters.block}",
        f"{counters.vgprs}",
        f"{counters.segments64:.2f}",
        f"{counters.segments128:.2f}",
        f"{counters.lds_conflict_cycles}",
        f"{row.valu_cycles_per_kb:.0f}",
        f"{counters.valu_cycles / (counters.bytes / 1024):.0f}",
        f"{counters.bytes_in_flight / 1000:.1f}",
        f"{counters.waves_per_simd:g}" + (f" ({limit})" if limit else ""),
    )


PREDICTION_HEADINGS = ("graph", "kernels", "us", "TB/s", "VALU busy", "wait for loads",
                       "issue, wait for a slot", "LDS, scalar loads", "barriers", "other")


def prediction_cells(row: PredictedGraph) -> tuple[str, ...]:
    loads = row.share("vmcnt") + row.share("vmem_queue")
    issue = row.share("issue") + row.share("arbitration") + row.share("valu_port")
    lds = row.share("lgkmcnt") + row.share("lds_queue")
    barriers = row.share("barrier")
    shares = (row.valu_busy, loads, issue, lds, barriers, 1 - loads - issue - lds - barriers)
    return (row.graph, f"{len(row.kernels)}", f"{row.us:.1f}",
            f"{row.bytes_moved / row.us / 1e6:.2f}",
            *(f"{max(share, 0.0):.0%}" for share in shares))
