#!/usr/bin/env python3
"""Says how much CPU time it takes to compile the kernels of matrix products, user and system, with each compiler.

Each kernel is compiled in a process of its own, and what the same process takes to lower the graph is subtracted. What
is left is the compiler with its start. See README.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from matmul_graphs import Product
from rows import table

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
COMPILERS = {"comgr": {"KILN_CLANG": "/nonexistent"},
             "clang": {"KILN_COMGR_LIBRARY": "/nonexistent"}}
NO_COMPILER = {"KILN_CLANG": "/nonexistent", "KILN_COMGR_LIBRARY": "/nonexistent"}


def products() -> Iterator[Product]:
    for dtype in ("f16", "bf16", "i8", "f32", "f64", "fp8", "bf8"):
        yield Product(dtype)
    for layout in ("nn", "nt", "tt"):
        yield Product(layout=layout)
    yield Product(k=4100)
    yield Product(m=1024, n=1024, k=1024)
    yield Product(epilogue="bias_gelu")
    yield Product(prologue="dequantise")
    yield Product("bf16", prologue="dequantise", epilogue="bias_gelu")


def cpu_seconds(arguments: list[str], environment: dict[str, str]) -> float | None:
    """Of the process and its children; None where it fails."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **environment})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime if process.returncode == 0 else None


def measure(kiln: str, graph: Path, target: str, compiler: str, repeat: int) -> float | None:
    """The least of `repeat`: the machine may be busy with something else."""
    compiled, lowered = [], []
    for _ in range(repeat):
        compiled.append(cpu_seconds(
            [kiln, "compile", "-q", "-j", "1", "--target", target, str(graph)],
            {"KILN_CACHE_DIR": "", "KILN_COMPILE_IN_PROCESS": "1", **COMPILERS[compiler]}))
        lowered.append(cpu_seconds([kiln, "explain", "--target", target, str(graph)],
                                   {"KILN_CACHE_DIR": "", **NO_COMPILER}))
        if compiled[-1] is None or lowered[-1] is None:
            return None
    return max(min(filter(None, compiled)) - min(filter(None, lowered)), 0.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kiln", default="kiln", metavar="PATH", help="the kiln program")
    parser.add_argument("--target", action="append", metavar="TARGET",
                        help=f"repeatable (default: {', '.join(TARGETS)})")
    parser.add_argument("--compiler", action="append", choices=tuple(COMPILERS), metavar="NAME",
                        help="comgr or clang; repeatable (default: both)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N",
                        help="compilations of each kernel, of which the shortest counts (default: 3)")
    options = parser.parse_args()
    targets = options.target or list(TARGETS)
    columns = [(compiler, target) for compiler in options.compiler or list(COMPILERS)
               for target in targets]
    rows, seconds = [], {column: [] for column in columns}
    with tempfile.TemporaryDirectory(prefix="kiln-compile-") as directory:
        for product in products():
            graph = product.save(Path(directory))
            row = [product.name]
            for compiler, target in columns:
                found = measure(options.kiln, graph, target, compiler, options.repeat)
                row.append("-" if found is None else f"{found:.2f}")
                if found is not None:
                    seconds[compiler, target].append(found)
            rows.append(row)
    for name, of in (("median", statistics.median), ("largest", max)):
        rows.append([name, *(f"{of(seconds[column]):.2f}" if seconds[column] else "-"
                             for column in columns)])
    print(table(("kernel", *(f"{compiler} {target}" for compiler, target in columns)), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
