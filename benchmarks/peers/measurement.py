"""Samples, and the figures that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Time:
    """Seconds of one execution: median, 10th and 90th percentile."""

    median_s: float
    low_s: float
    high_s: float
    samples: int

    @property
    def noise(self) -> float:
        """Half the way from the 10th to the 90th percentile, as a share of the median."""
        return (self.high_s - self.low_s) / 2 / self.median_s


def percentile(ordered: list[float], share: float) -> float:
    """Between neighbours in proportion, as kiln bench does it."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def summarize(samples: list[float]) -> Time:
    ordered = sorted(samples)
    low, median, high = (percentile(ordered, share) for share in (0.1, 0.5, 0.9))
    return Time(median, low, high, len(ordered))


@dataclass
class CaseResult:
    """Of one graph. What was not measured is None; `failure` says why."""

    name: str
    failure: str | None = None
    bytes_fewest: int = 0
    kiln: Time | None = None
    unfused: Time | None = None
    kiln_copy: Time | None = None
    kiln_copy_bytes: int = 0  # read and written
    eager: Time | None = None
    compiled: Time | None = None
    torch_copy: Time | None = None
    torch_copy_bytes: int = 0
    kiln_compile_s: float | None = None
    torch_compile_s: float | None = None
    idioms: tuple[str, ...] = ()
    kept_inside: tuple[str, ...] = ()
    code: str = ""
    errors: dict[str, float] | None = None  # largest difference over largest value, by comparison
    disagreements: tuple[str, ...] = ()  # the comparisons whose error is over the tolerance

    def rate(self, time: Time | None) -> float | None:
        """Fewest bytes over time, in bytes per second; not for the copies."""
        return self.bytes_fewest / time.median_s if time else None

    @property
    def kiln_copy_rate(self) -> float | None:
        return self.kiln_copy_bytes / self.kiln_copy.median_s if self.kiln_copy else None

    @property
    def torch_copy_rate(self) -> float | None:
        return self.torch_copy_bytes / self.torch_copy.median_s if self.torch_copy else None

    def faster_than(self, peer: Time | None) -> float | None:
        """Rate of Kiln over the peer's; above 1: Kiln is faster."""
        return peer.median_s / self.kiln.median_s if self.kiln and peer else None

    def noise_with(self, peer: Time | None) -> float | None:
        """Of that ratio."""
        return math.hypot(self.kiln.noise, peer.noise) if self.kiln and peer else None

    @property
    def share_of_copy(self) -> float | None:
        rate, copy_rate = self.rate(self.kiln), self.kiln_copy_rate
        return rate / copy_rate if rate is not None and copy_rate else None

    @property
    def compile_ratio(self) -> float | None:
        if not self.kiln_compile_s or not self.torch_compile_s:
            return None
        return self.torch_compile_s / self.kiln_compile_s
