"""What the emulator writes of a launch: counters, and the prediction of its timing model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Lanes of a wave that a SIMD of the target computes at once decide how long an instruction is issued.
CDNA_CYCLES = 4
QUARTER_RATE = 4  # transcendental functions, and 32-bit integer multiplication


@dataclass(frozen=True)
class Counters:
    """Facts about one launch. Bytes are those that active lanes asked of global memory."""

    kernel: str
    bytes: int
    segments64: float  # touched, over the fewest that the bytes of each instruction need
    segments128: float
    lds_conflict_cycles: int
    lds_instructions: int
    valu_cycles: int  # in which SIMDs issue vector instructions, all SIMDs added up
    bytes_in_flight: float  # of a CU full of waves, mean at waits
    waves_per_simd: float
    limit: str  # of the waves
    block: int
    vgprs: int


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def _valu_cycles(line: dict[str, Any]) -> int:
    instructions, detail = line["instructions"], line["valu_detail"]
    is_cdna = line["target"].startswith("gfx9")
    each: int = CDNA_CYCLES if is_cdna else line["wave"] // 32
    full_rate_f64 = line["target"] in ("gfx90a", "gfx940", "gfx941", "gfx942", "gfx950")
    f64_rate = 1 if full_rate_f64 else 2 if is_cdna else 16
    issues = (instructions["valu"] + instructions["valu_packed"] + instructions["dot"]
              + (QUARTER_RATE - 1) * detail["mul32"] + (f64_rate - 1) * detail["f64"]
              + QUARTER_RATE * instructions["trans"])
    return each * int(issues)


def counters_of(line: dict[str, Any]) -> Counters:
    memory = [line["global"][kind] for kind in ("load", "store", "atomic")]
    instructions, occupancy, flight = line["instructions"], line["occupancy"], line["in_flight"]

    def total(field: str) -> int:
        return sum(int(kind[field]) for kind in memory)

    in_flight_of_wave = _ratio(flight["bytes_at_waits"], flight["waits"])
    units = 2 if occupancy["unit"] == "WGP" else 1
    return Counters(
        kernel=line["kernel"],
        bytes=total("bytes"),
        segments64=_ratio(total("segments64"), total("minimum64")),
        segments128=_ratio(total("segments128"), total("minimum128")),
        lds_conflict_cycles=line["lds"]["conflict_cycles"],
        lds_instructions=sum(instructions[f"lds_{kind}"] for kind in ("read", "write", "atomic")),
        valu_cycles=_valu_cycles(line),
        bytes_in_flight=in_flight_of_wave * occupancy["waves_per_unit"] / units,
        waves_per_simd=occupancy["waves_per_simd"],
        limit=occupancy["limit"],
        block=line["block"][0],
        vgprs=occupancy["vgprs"],
    )


@dataclass(frozen=True)
class Prediction:
    """What the timing model says of one launch. It was never compared with a GPU."""

    kernel: str
    us: float  # without the launch
    valu_busy: float  # share of the SIMDs' time
    wave_time: dict[str, float]  # shares of the waves' life


def prediction_of(line: dict[str, Any]) -> Prediction:
    return Prediction(
        kernel=line["kernel"],
        us=line["kernel_us"],
        valu_busy=line["busy"]["valu"],
        wave_time=line["wave_time"],
    )
