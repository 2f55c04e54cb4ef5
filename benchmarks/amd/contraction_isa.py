#!/usr/bin/env python3
"""Says what stands in the K loops of Kiln's matrix products, and of Triton's beside them.

Kernels are compiled for AMD GPUs, disassembled, and the loop with the matrix instructions is counted. No GPU takes
part. With --emulator work-groups are executed besides, which counts LDS bank conflicts in the loop; with --predict a model
of an MI300X says how long the products would take. That model was never compared with a GPU. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from code_objects import CodeObject, ToolFailed, images_of_cache, read_code_object, run_tool
from k_loop import CLASSES, KLoop, examine_k_loop
from kiln_graphs import Kiln, KilnFailed
from matmul_graphs import Product
from rows import table

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
# The formats of fp8 that a target has instructions for come first; others are converted on the way.
FP8_FORMATS = {"gfx942": ("fp8fnuz", "fp8"), "gfx950": ("fp8",), "gfx1200": ("fp8",), "gfx1201": ("fp8",)}
MORE_TYPES = {"gfx950": ("bf16", "i8")}  # with --all
PREDICTED_TARGET = "gfx942"
PREDICTED_SIZES = (2048, 4096, 8192)
LEAST_MATRIX_SHARE = 0.85
EXIT_FAILED = 1
LAUNCH_TRITON = Path(__file__).resolve().parent / "launch_triton.py"
TIMED_TARGETS = ("gfx90a", "gfx942")  # that the emulator's timing model knows
MI300X_COMPUTE_UNITS = "304"
FILE = "file"  # stands for the one that the emulator is to write
TIMING = {"EMU_TIMING": FILE, "EMU_TIMING_ONLY": "1"}
COUNTERS = {"EMU_STATS": FILE, "EMU_STATS_TOUCH_MAX": "0"}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kiln", default="kiln", metavar="PATH", help="the kiln program")
    parser.add_argument("--target", action="append", metavar="TARGET",
                        help=f"repeatable (default: {', '.join(TARGETS)})")
    parser.add_argument("--llvm", default="-19", metavar="SUFFIX",
                        help="of llvm-objdump, llvm-readelf and llvm-mca (default: -19)")
    parser.add_argument("--triton", type=Path, metavar="DIRECTORY",
                        help="code objects that triton_matmul.py wrote")
    parser.add_argument("--emulator", type=Path, metavar="DIRECTORY",
                        help="folder of the emulator of AMD GPUs: amdrun.py; EMU_LIB names its library")
    parser.add_argument("--python", default=sys.executable, metavar="PATH",
                        help="python with numpy, for the emulator (default: this one)")
    parser.add_argument("--predict", action="store_true",
                        help=f"add the timing model's prediction for {PREDICTED_TARGET}")
    parser.add_argument("--all", action="store_true",
                        help="all layouts, smaller tiles and ends of k too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results as JSON")
    return parser.parse_args()


def products(target: str, everything: bool) -> Iterator[Product]:
    others = MORE_TYPES.get(target, ()) if everything else ()
    for dtype in ("f16", *FP8_FORMATS.get(target, ()), *others):
        yield Product(dtype)
        if not everything:
            continue
        for layout in ("nn", "nt", "tt"):
            yield Product(dtype, layout)
        yield Product(dtype, k=4100)
        yield Product(dtype, m=1024, n=1024, k=1024)
        yield Product(dtype, epilogue="bias_gelu")
        if dtype == "f16":
            yield Product(dtype, prologue="dequantise")
            yield Product(dtype, "tt", prologue="dequantise")


@dataclass(frozen=True)
class Row:
    name: str
    code: CodeObject
    loop: KLoop
    schedule: str
    tile: tuple[int, int, int]
    product: Product | None  # None: Triton's
    waves: str = ""  # of Kiln's: how they share the tile

    @property
    def steps_of_64(self) -> float:
        """K of an iteration, in 64 elements: loops are compared by it."""
        waves = self.code.work_items // self.code.wave
        return self.loop.kmacs * 1024 * waves / (self.tile[0] * self.tile[1] * 64)


def kiln_row(options: argparse.Namespace, product: Product, target: str, directory: Path) -> Row:
    graph = product.save(directory)
    cache = directory / f"cache-{target}-{product.name}"
    for arguments in (["compile", "-q", "--target", target, "--cache", str(cache), str(graph)],
                      ["explain", "--json", "--target", target, "--cache", str(cache), str(graph)]):
        done = subprocess.run([options.kiln, *arguments], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise ToolFailed(" ".join(done.stderr.split()))
    kernels = json.loads(done.stdout)["kernels"]
    images = images_of_cache(cache)
    if len(kernels) != 1 or len(images) != 1:
        raise ToolFailed(f"{product.name} for {target} is {len(kernels)} kernels")
    path = directory / f"{target}-{product.name}.co"
    path.write_bytes(images[0])
    code = read_code_object(path, options.llvm)
    schedule = kernels[0]["schedule"].split("\n")[0].strip()
    tile = next(part for part in schedule.split(", ") if part.startswith("tile ")).split()[1]
    waves = next(part for part in schedule.split(", ") if part.startswith("waves ")).split()[1]
    sizes = tuple(int(size) for size in tile.split("x"))
    is_converted = product.dtype == "fp8" and FP8_FORMATS[target][0] != "fp8"
    name = f"Kiln {product.name}{' (OCP, converted)' if is_converted else ''}"
    return Row(name, code, examine_k_loop(code, options.llvm), schedule,
               (sizes[0], sizes[1], sizes[2]), product, waves)


def triton_rows(options: argparse.Namespace, target: str) -> Iterator[Row]:
    for path in sorted(options.triton.glob(f"{target}-*.json")):
        facts = json.loads(path.read_text())
        code = read_code_object(path.with_suffix(".hsaco"), options.llvm)
        # What it asks for when it is launched is in no metadata of the code object.
        code = CodeObject(**{**code.__dict__, "lds_bytes": facts["lds_bytes"],
                             "work_items": facts["work_items"]})
        tile = tuple(facts["tile"])
        dtype = FP8_FORMATS[target][0] if facts["dtype"] == "fp8" else facts["dtype"]
        name = "-".join(filter(None, (dtype, facts["layout"], facts["prologue"])))
        yield Row(f"Triton {name} {'x'.join(map(str, tile))}", code,
                  examine_k_loop(code, options.llvm), f"Triton {facts['triton']}",
                  (tile[0], tile[1], tile[2]), None)


def launch(options: argparse.Namespace, row: Row, sizes: tuple[int, int, int], directory: Path,
           emulator: dict[str, str], forced: tuple[str, ...] = ()) -> dict[str, Any]:
    """The line that the emulator writes of a launch to the file that `emulator`, options of it, calls FILE."""
    file = directory / "launch.json"
    file.unlink(missing_ok=True)
    environment = {"EMU_ARCH": row.code.target, "EMU_CU": MI300X_COMPUTE_UNITS,
                   "EMU_CHECK_RACE": "0",
                   **{name: str(file) if value == FILE else value
                      for name, value in emulator.items()}}
    m, n, k = sizes
    if row.product is not None:
        graph = replace(row.product, m=m, n=n, k=k).save(directory)
        library = os.environ.get("EMU_LIB", str(options.emulator / "build/libamdemu.so"))
        environment["KILN_HIP_LIBRARY"] = str(Path(library).with_name("libamdhip64.so.5"))
        Kiln(options.kiln).execute(graph, environment, forced)
    else:
        run_tool([options.python, str(LAUNCH_TRITON), str(options.emulator), str(row.code.path),
                  str(m), str(n), str(k)], environment=environment)
    line: dict[str, Any] = json.loads(file.read_text().splitlines()[-1])
    return line


def conflict_cycles(options: argparse.Namespace, row: Row, k: int, directory: Path) -> float:
    """LDS cycles that a work-group loses to bank conflicts."""
    if row.code.target in TIMED_TARGETS:
        size = row.product.m if row.product else 4096
        line = launch(options, row, (size, size, k), directory,
                      {**TIMING, "EMU_TIMING_GROUPS": "1"})
        return float(line["lds"]["conflict_clocks"] / line["grid"][0])
    # One work-group is executed, with the schedule of the large product.
    m, n, step = row.tile
    forced = ("--tile", f"{m}x{n}x{step}", "--waves", row.waves, "--split-k", "1")
    line = launch(options, row, (m, n, k), directory, COUNTERS, forced)
    return float(line["lds"]["conflict_cycles"])


def count_conflicts(options: argparse.Namespace, row: Row, directory: Path) -> float | None:
    """LDS cycles that are lost to bank conflicts in a K step: more k costs no more of anything else."""
    if options.emulator is None:
        return None
    steps = 8
    counts = [conflict_cycles(options, row, k, directory)
              for k in (512, 512 + steps * row.tile[2])]
    return (counts[1] - counts[0]) / steps


HEADINGS = ("kernel", "tile", "matrix instruction", "VGPRs", "spills", "waves/SIMD",
            "global reads", "LDS reads", "LDS writes", "conflicts", "LDS bytes/matrix",
            "LDS bytes/1024 MAC", "barriers/64 k", "matrix share")


def cells(row: Row, conflicts: float | None) -> tuple[str, ...]:
    loop, code = row.loop, row.code
    share = loop.matrix_share
    return (row.name, "x".join(map(str, row.tile)), loop.matrix, f"{code.vgprs}",
            f"{code.spills}", f"{code.waves_per_simd}", loop.global_widths, loop.lds_read_widths,
            loop.lds_write_widths, "-" if conflicts is None else f"{conflicts:g}",
            f"{loop.lds_read_bytes_per_matrix:.0f}", f"{loop.lds_read_bytes_per_kmac:.0f}",
            f"{loop.classes['barriers'] / row.steps_of_64:g}",
            "-" if share is None else f"{share:.0%}")


CLASS_HEADINGS = ("kernel", "K of an iteration", *CLASSES, "all", "but matrix, per 1024 MAC")


def class_cells(row: Row) -> tuple[str, ...]:
    counts = row.loop.classes
    others = sum(counts.values()) - counts["matrix"]
    return (row.name, f"{row.steps_of_64 * 64:g}", *(f"{counts[name]}" for name in CLASSES),
            f"{sum(counts.values())}", f"{others / row.loop.kmacs:.2f}")


def goals_missed(row: Row, conflicts: float | None) -> list[str]:
    loop, missed = row.loop, []
    if row.code.spills or row.code.scratch_bytes:
        missed.append(f"{row.code.spills} spills")
    if row.code.waves_per_simd < 2:
        missed.append(f"{row.code.waves_per_simd} wave per SIMD")
    if loop.global_widths != "16":
        missed.append(f"global reads of {loop.global_widths} bytes")
    if loop.lds_read_widths != "16":
        missed.append(f"LDS reads of {loop.lds_read_widths} bytes")
    if conflicts:
        missed.append(f"{conflicts:g} conflict cycles per K step")
    if row.code.target == PREDICTED_TARGET and (loop.matrix_share or 0) < LEAST_MATRIX_SHARE:
        missed.append(f"matrix share {loop.matrix_share or 0:.0%}")
    return missed


def print_target(target: str, rows: list[Row], conflicts: list[float | None]) -> None:
    print(f"\n## {target}\n")
    print(table(HEADINGS, [cells(row, found) for row, found in zip(rows, conflicts)]))
    print("\nInstructions of an iteration of the K loop:\n")
    print(table(CLASS_HEADINGS, [class_cells(row) for row in rows]))
    missed = [(row.name, goals_missed(row, found)) for row, found in zip(rows, conflicts)
              if row.product is not None]
    if any(goals for _, goals in missed):
        print("\nGoals missed:")
    for name, goals in missed:
        if goals:
            print(f"- {name}: {', '.join(goals)}")
    sys.stdout.flush()


def predict(options: argparse.Namespace, directory: Path) -> None:
    lines = []
    peers = triton_rows(options, PREDICTED_TARGET) if options.triton else iter(())
    triton = [row for row in peers if " f16-tn " in row.name]
    for size in PREDICTED_SIZES:
        product = Product(m=size, n=size, k=size)
        for row in (kiln_row(options, product, PREDICTED_TARGET, directory), *triton):
            line = launch(options, row, (size, size, size), directory, TIMING)
            us = line["kernel_us"]
            lines.append((row.name, f"{size}", "x".join(map(str, row.tile)), f"{us:.1f}",
                          f"{2e-6 * size ** 3 / us:.0f}", f"{line['busy']['mfma']:.0%}",
                          f"{line['clock_ghz']:.2f}"))
    print("\n## f16 on an MI300X, by a model that was never compared with a GPU\n")
    print(table(("kernel", "size", "tile", "us", "TFLOP/s", "matrix unit busy", "GHz"), lines))


def run(options: argparse.Namespace, directory: Path) -> int:
    failures, results = [], {}
    for target in options.target or TARGETS:
        rows = []
        for product in products(target, options.all):
            try:
                rows.append(kiln_row(options, product, target, directory))
            except ToolFailed as error:
                failures.append(str(error))
        rows += list(triton_rows(options, target)) if options.triton else []
        conflicts = [count_conflicts(options, row, directory) for row in rows]
        print_target(target, rows, conflicts)
        results[target] = [{"kernel": row.name, "schedule": row.schedule, **asdict(row.loop),
                            "vgprs": row.code.vgprs, "spills": row.code.spills,
                            "waves_per_simd": row.code.waves_per_simd, "conflicts": found}
                           for row, found in zip(rows, conflicts)]
    if options.predict:
        predict(options, directory)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    for failure in failures:
        print(failure, file=sys.stderr)
    return EXIT_FAILED if failures else 0


def main() -> int:
    options = parse_arguments()
    if shutil.which(options.kiln) is None:
        print(f"there is no program '{options.kiln}': name kiln with --kiln", file=sys.stderr)
        return EXIT_FAILED
    with tempfile.TemporaryDirectory(prefix="kiln-isa-") as directory:
        try:
            return run(options, Path(directory))
        except (ToolFailed, KilnFailed) as error:
            print(error, file=sys.stderr)
            return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
