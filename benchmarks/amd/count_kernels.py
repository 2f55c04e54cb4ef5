#!/usr/bin/env python3
"""Counts what Kiln's kernels do on an emulated AMD GPU, for the graphs of kiln bench.

Memory transactions, LDS conflicts, arithmetic and bytes in flight are counted while the kernels
are executed. With --predict a model of an MI300X says besides how long the full size would take;
that model was never compared with a GPU. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from emulated_launch import counters_of, prediction_of
from goals import missed_goals
from kiln_graphs import Kernel, Kiln, KilnFailed
from rows import (COUNTER_HEADINGS, PREDICTION_HEADINGS, CountedKernel, PredictedGraph,
                  counter_cells, prediction_cells, table)

FULL_ELEMENTS = 1 << 26  # what kiln bench measures on a GPU
SIZES = (1 << 19, 1 << 22, 1 << 24, FULL_ELEMENTS)
PREDICTED_TARGET = "gfx942"
MI300X_COMPUTE_UNITS = "304"
REPOSITORY = Path(__file__).resolve().parents[2]
EXIT_FAILED, EXIT_ENVIRONMENT = 1, 3


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="case of kiln bench's suite or graph file (default: the suite)")
    parser.add_argument("--kiln", default="kiln", metavar="PATH", help="the kiln program")
    parser.add_argument("--emulator", type=Path, metavar="LIBRARY",
                        help="the emulator's HIP library (default: KILN_HIP_LIBRARY, else "
                             "../shared/emulator/build/libamdhip64.so.5 beside the repository)")
    parser.add_argument("--target", action="append", metavar="TARGET",
                        help="target to count for; repeatable (default: gfx942 and gfx1100)")
    parser.add_argument("--largest", type=int, default=FULL_ELEMENTS, metavar="N",
                        help="elements of the largest size that is executed (default: full size); "
                             "kernels that are scheduled differently there get a star")
    parser.add_argument("--predict", action="store_true",
                        help="add the timing model's prediction for an MI300X at full size")
    parser.add_argument("--no-counters", action="store_true", help="only predict")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="graphs at the same time (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results as JSON")
    return parser.parse_args()


@dataclass
class Suite:
    """The graphs at every size."""

    kiln: Kiln
    emulator: Path
    directory: Path
    graphs: dict[int, dict[str, Path]]  # by elements, then by name

    def environment(self, target: str) -> dict[str, str]:
        return {"KILN_HIP_LIBRARY": str(self.emulator), "EMU_ARCH": target}


def save_suite(options: argparse.Namespace, directory: Path) -> Suite:
    kiln = Kiln(options.kiln)
    graphs = {}
    for elements in SIZES:
        (directory / str(elements)).mkdir()
        graphs[elements] = kiln.save_graphs(directory / str(elements), options.cases, elements)
    return Suite(kiln, options.emulator, directory, graphs)


def run_like_full(kernels: list[Kernel], full: list[Kernel]) -> list[bool]:
    if len(kernels) != len(full):
        return [False] * len(kernels)
    return [kernel.runs_like(other) for kernel, other in zip(kernels, full)]


def choose_size(suite: Suite, name: str, target: str, largest: int) -> int:
    """The smallest size whose kernels are scheduled like those of the full size; else the largest
    that may be executed."""
    full = suite.kiln.explain(suite.graphs[FULL_ELEMENTS][name], target, compiled=False)
    allowed = [elements for elements in SIZES if elements <= largest] or [SIZES[0]]
    for elements in allowed[:-1]:
        kernels = suite.kiln.explain(suite.graphs[elements][name], target, compiled=False)
        if all(run_like_full(kernels, full)):
            return elements
    return allowed[-1]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def count(suite: Suite, name: str, target: str, largest: int) -> list[CountedKernel]:
    elements = choose_size(suite, name, target, largest)
    graph = suite.graphs[elements][name]
    file = suite.directory / f"{target}-{name}.counters"
    suite.kiln.execute(graph, {**suite.environment(target), "EMU_STATS": str(file),
                               "EMU_STATS_TOUCH_MAX": "0", "EMU_CHECK_RACE": "0"})
    lines = read_lines(file)
    kernels = suite.kiln.explain(graph, target, compiled=True)
    if [line["kernel"] for line in lines] != [kernel.symbol for kernel in kernels]:
        raise KilnFailed(f"{name}: the emulator counted other launches than kiln explain shows")
    full = kernels
    if elements != FULL_ELEMENTS:
        full = suite.kiln.explain(suite.graphs[FULL_ELEMENTS][name], target, compiled=True)
    alike = run_like_full(kernels, full)
    moved = sum(kernel.bytes_moved for kernel in kernels)
    return [CountedKernel(name, index, kernel.template, elements, alike[index],
                          kernel.bytes_moved, kernel.bytes_moved / moved, counters_of(line))
            for index, (kernel, line) in enumerate(zip(kernels, lines))]


def predict(suite: Suite, name: str) -> PredictedGraph:
    graph = suite.graphs[FULL_ELEMENTS][name]
    file = suite.directory / f"{name}.predictions"
    suite.kiln.execute(graph, {**suite.environment(PREDICTED_TARGET), "EMU_TIMING": str(file),
                               "EMU_TIMING_ONLY": "1", "EMU_CU": MI300X_COMPUTE_UNITS})
    kernels = suite.kiln.explain(graph, PREDICTED_TARGET, compiled=True)
    predictions = [prediction_of(line) for line in read_lines(file)]
    if len(predictions) != len(kernels):
        raise KilnFailed(f"{name}: {len(predictions)} of {len(kernels)} kernels were predicted")
    return PredictedGraph(name, predictions, sum(kernel.bytes_moved for kernel in kernels))


def print_counters(target: str, rows: list[CountedKernel]) -> None:
    print(f"\n## {target}\n")
    print(table(COUNTER_HEADINGS, [counter_cells(row) for row in rows]))
    if any(not row.is_full_schedule for row in rows):
        print("\n*: at full size the kernel has another schedule or other registers.")
    if target == PREDICTED_TARGET and rows:
        missed = [(row, list(missed_goals(row))) for row in rows]
        print("\nGoals missed:" if any(goals for _, goals in missed) else "\nNo goal is missed.")
        for row, goals in missed:
            if goals:
                print(f"- {counter_cells(row)[0]}: {', '.join(goals)}")


def find_emulator(options: argparse.Namespace) -> str | None:
    """Sets the library's path; returns what is wrong."""
    if options.emulator is None:
        beside = REPOSITORY.parent / "shared/emulator/build/libamdhip64.so.5"
        options.emulator = Path(os.environ.get("KILN_HIP_LIBRARY") or beside)
    if not options.emulator.exists():
        return (f"there is no emulator at '{options.emulator}': name its HIP library with "
                "--emulator or KILN_HIP_LIBRARY")
    if shutil.which(options.kiln) is None:
        return f"there is no program '{options.kiln}': name kiln with --kiln"
    return None


def run(options: argparse.Namespace, directory: Path) -> int:
    suite = save_suite(options, directory)
    names = list(suite.graphs[FULL_ELEMENTS])
    results: dict[str, Any] = {}
    failures: list[str] = []

    def attempt(work: Any, *arguments: Any) -> Any:
        try:
            return work(suite, *arguments)
        except KilnFailed as error:
            failures.append(str(error))
            return None

    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for target in [] if options.no_counters else options.target or ["gfx942", "gfx1100"]:
            counted = pool.map(lambda name: attempt(count, name, target, options.largest), names)
            rows = [row for rows in counted for row in rows or []]
            print_counters(target, rows)
            sys.stdout.flush()
            results[target] = [asdict(row) for row in rows]
        if options.predict or options.no_counters:
            predicted = [p for p in pool.map(lambda name: attempt(predict, name), names) if p]
            print("\n## MI300X at full size, by a model that was never compared with a GPU\n")
            print(table(PREDICTION_HEADINGS, [prediction_cells(row) for row in predicted]))
            results["predicted"] = [asdict(row) for row in predicted]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    for failure in failures:
        print(failure, file=sys.stderr)
    return EXIT_FAILED if failures else 0


def main() -> int:
    options = parse_arguments()
    wrong = find_emulator(options)
    if wrong:
        print(wrong, file=sys.stderr)
        return EXIT_ENVIRONMENT
    with tempfile.TemporaryDirectory(prefix="kiln-count-") as directory:
        try:
            return run(options, Path(directory))
        except KilnFailed as error:
            print(error, file=sys.stderr)
            return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
