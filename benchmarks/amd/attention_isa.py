#!/usr/bin/env python3
"""Says what stands in the loops of Kiln's attention kernels and of their gradients', and of Triton's beside them.

Kernels are compiled for AMD GPUs and executed on the emulator for a short sequence; what the first wave of the longest work-group
executed in most of its iterations is counted. With --predict a model of an MI300X says how long 128 heads of 2176 take. That
model was never compared with a GPU. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attention_graphs import Attention
from code_objects import CodeObject, ToolFailed, images_of_cache, read_code_object
from executed_loop import executed_iterations, executed_offsets
from k_loop import KLoop, examine_loop
from rows import table

TARGETS = ("gfx942", "gfx1100")
PREDICTED_TARGET = "gfx942"
SIZES = (64, 128)
TRACED = Attention(batch=1, heads=1, kv_heads=1, queries=512, keys=512)
# No multiple of eight tiles: the model simulates one of eight chiplets, to which work-groups go in turn, and which then has those of
# all rows. Of 2048, 16 tiles, it would have the first and the ninth of each head: less than others have of causal attention.
PREDICTED_LENGTH = 2176
PREDICTED_HEADS = 128
LAUNCH_TRITON = Path(__file__).resolve().parent / "launch_triton_attention.py"
MI300X_COMPUTE_UNITS = "304"
TIMEOUT_S = 900
EXIT_FAILED = 1
PARTS = {"forward": ("",), "backward": (" dQ", " dK dV")}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kiln", required=True, metavar="PATH", help="the kiln program")
    parser.add_argument("--emulator", required=True, type=Path, metavar="DIRECTORY",
                        help="folder of the emulator of AMD GPUs: amdrun.py; EMU_LIB names its library")
    parser.add_argument("--target", action="append", metavar="TARGET",
                        help=f"repeatable (default: {', '.join(TARGETS)})")
    parser.add_argument("--llvm", default="-19", metavar="SUFFIX",
                        help="of llvm-objdump, llvm-readelf and llvm-mca (default: -19)")
    parser.add_argument("--triton", type=Path, metavar="DIRECTORY",
                        help="code objects that triton_attention.py wrote")
    parser.add_argument("--python", default=sys.executable, metavar="PATH",
                        help="python with numpy, for the emulator (default: this one)")
    parser.add_argument("--predict", action="store_true",
                        help=f"add the timing model's prediction for {PREDICTED_TARGET}")
    return parser.parse_args()


@dataclass(frozen=True)
class Row:
    name: str
    tile: str
    code: CodeObject
    loop: KLoop
    conflicts: float  # LDS cycles that they cost, for each matrix instruction of the loop
    us: float | None


def execute(options: argparse.Namespace, command: list[str], target: str,
            emulator: dict[str, str]) -> str:
    library = Path(os.environ.get("EMU_LIB", str(options.emulator / "build/libamdemu.so")))
    environment = {**os.environ, "EMU_ARCH": target, "EMU_CHECK_RACE": "0", "EMU_LIB": str(library),
                   "EMU_CU": MI300X_COMPUTE_UNITS, "EMU_THREADS": "1",
                   "KILN_HIP_LIBRARY": str(library.with_name("libamdhip64.so.5")), **emulator}
    done = subprocess.run(command, capture_output=True, text=True, env=environment,
                          timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise ToolFailed(" ".join(done.stderr.split()[-60:]))
    return done.stderr


def trace(options: argparse.Namespace, command: list[str],
          target: str) -> list[tuple[str, dict[str, list[int]]]]:
    """What each launch executed."""
    text = execute(options, command, target, {"EMU_TRACE_EXEC": "1", "EMU_VERBOSE": "1"})
    return list(executed_offsets(text.splitlines()))


def count(options: argparse.Namespace, command: list[str], target: str,
          directory: Path) -> list[tuple[float, float]]:
    """Of each launch the LDS cycles that bank conflicts cost, and matrix instructions."""
    file = directory / "counters.json"
    file.unlink(missing_ok=True)
    execute(options, command, target, {"EMU_STATS": str(file)})
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [(float(line["lds"]["conflict_cycles"]), float(line["instructions"]["matrix"]))
            for line in lines]


def conflicts_in_loops(short: list[tuple[float, float]],
                       long: list[tuple[float, float]]) -> list[float]:
    """Twice as many rows and keys: four times as much of the loop, twice as much of all else."""
    return [(after[0] - 2 * before[0]) / (after[1] - 2 * before[1]) if after[1] else 0.0
            for before, after in zip(short, long)]


def predicted(options: argparse.Namespace, command: list[str], target: str,
              directory: Path) -> list[float] | None:
    if not options.predict or target != PREDICTED_TARGET:
        return None
    file = directory / "timing.json"
    file.unlink(missing_ok=True)
    execute(options, command, target, {"EMU_TIMING": str(file), "EMU_TIMING_ONLY": "1"})
    return [float(json.loads(line)["kernel_us"]) for line in file.read_text().splitlines()]


def kiln_rows(options: argparse.Namespace, attention: Attention, target: str,
              directory: Path) -> Iterator[Row]:
    # Sequences of all lengths have one name, and one kernel.
    folders = [directory / name for name in ("short", "twice", "long")]
    cache = directory / f"cache-{target}-{attention.name}"
    for folder in folders:
        folder.mkdir(exist_ok=True)
    traced = replace(TRACED, kind=attention.kind, size=attention.size,
                     is_causal=attention.is_causal)
    graph = traced.save(folders[0])
    twice = replace(traced, queries=2 * traced.queries, keys=2 * traced.keys).save(folders[1])
    long = replace(attention, queries=PREDICTED_LENGTH, keys=PREDICTED_LENGTH)
    command = [options.kiln, "run", "--device", "hip", "--split-k", "1", "--cache", str(cache)]
    launches = trace(options, [*command, str(graph)], target)
    conflicts = conflicts_in_loops(*(count(options, [*command, str(path)], target, directory)
                                     for path in (graph, twice)))
    times = predicted(options, [*command, str(long.save(folders[2]))], target, directory)
    done = subprocess.run([options.kiln, "explain", "--json", "--split-k", "1", "--target", target,
                           "--cache", str(cache), str(graph)], capture_output=True, text=True,
                          check=True)
    schedules = {kernel["symbol"]: kernel["schedule"] for kernel in json.loads(done.stdout)["kernels"]}
    codes = {}
    for index, image in enumerate(images_of_cache(cache)):
        path = directory / f"{target}-{attention.name}-{index}.co"
        path.write_bytes(image)
        code = read_code_object(path, options.llvm)
        codes[code.symbol] = code
    part = iter(PARTS[attention.kind])
    for index, (symbol, groups) in enumerate(launches):
        schedule = schedules[symbol]
        if "template attention" not in schedule:
            continue
        words = schedule.split("template attention: ")[1].split()
        code = codes[symbol]
        iteration = executed_iterations(code, groups)[0]
        yield Row(f"Kiln {attention.kind}{next(part)} {attention.size}"
                  f"{' causal' if attention.is_causal else ''}", f"{words[0]}x{words[4]}", code,
                  examine_loop(code, iteration, options.llvm), conflicts[index],
                  times[index] if times else None)


def triton_rows(options: argparse.Namespace, attention: Attention, target: str,
                directory: Path) -> Iterator[Row]:
    for path in sorted(options.triton.glob(f"{target}-{attention.kind}-*.json")):
        facts = json.loads(path.read_text())
        if facts["size"] != attention.size or facts["is_causal"] != attention.is_causal:
            continue
        code = read_code_object(path.with_suffix(".hsaco"), options.llvm)
        code = CodeObject(**{**code.__dict__, "lds_bytes": facts["lds_bytes"],
                             "work_items": facts["work_items"]})
        command = [options.python, str(LAUNCH_TRITON), str(options.emulator), str(code.path)]
        try:
            launches = trace(options, [*command, "1", str(TRACED.keys)], target)
            conflicts = conflicts_in_loops(*(
                count(options, [*command, "1", str(length)], target, directory)
                for length in (TRACED.keys, 2 * TRACED.keys)))
            times = predicted(options, [*command, str(PREDICTED_HEADS), str(PREDICTED_LENGTH)],
                              target, directory)
        except ToolFailed as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
            continue
        iterations = executed_iterations(code, launches[0][1])
        iteration = max(iterations, key=len)
        yield Row(f"Triton {attention.kind} {attention.size}"
                  f"{' causal' if attention.is_causal else ''}",
                  facts["tile"] + path.stem.split("-")[-1].replace("stages", ", stages "), code,
                  examine_loop(code, iteration, options.llvm), conflicts[0],
                  times[0] if times else None)


HEADINGS = ("kernel", "tile", "scratch bytes", "VGPRs", "waves/SIMD", "LDS bytes", "conflicts/matrix",
            "global reads", "LDS reads", "barriers", "matrix", "others/matrix", "matrix share", "us")


def cells(row: Row) -> tuple[str, ...]:
    loop, code = row.loop, row.code
    counts = loop.classes
    others = (sum(counts.values()) - counts["matrix"]) / counts["matrix"]
    share = loop.matrix_share
    return (row.name, row.tile, f"{code.scratch_bytes}", f"{code.vgprs}", f"{code.waves_per_simd}",
            f"{code.lds_bytes}", f"{row.conflicts:.3g}", loop.global_widths, loop.lds_read_widths,
            f"{counts['barriers']}", f"{counts['matrix']}", f"{others:.1f}",
            "-" if share is None else f"{share:.0%}", "-" if row.us is None else f"{row.us:.0f}")


def rows_of(options: argparse.Namespace, target: str, directory: Path) -> Iterator[Row]:
    for kind in PARTS:
        for size in SIZES:
            for is_causal in (False, True):
                attention = Attention(kind, size, is_causal)
                yield from kiln_rows(options, attention, target, directory)
                if options.triton:
                    yield from triton_rows(options, attention, target, directory)


def main() -> int:
    options = parse_arguments()
    failed = False
    with tempfile.TemporaryDirectory(prefix="kiln-isa-") as directory:
        for target in options.target or TARGETS:
            lines: list[tuple[str, ...]] = []
            try:
                for row in rows_of(options, target, Path(directory)):
                    lines.append(cells(row))
            except (ToolFailed, subprocess.SubprocessError) as error:
                print(f"{target}: {error}", file=sys.stderr)
                failed = True
            print(f"\n## {target}\n\n{table(HEADINGS, lines)}", flush=True)
    return EXIT_FAILED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
