#!/usr/bin/env python3
"""Says how long convolutions would take on an MI300X, beside the matrix products of as many operations.

By the timing model of an emulator of AMD GPUs, which was never compared with a GPU. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from convolution_graphs import Convolution
from matmul_graphs import Product
from rows import table

# What operands of the product run along: as those of the convolution do, channels last.
LAYOUTS = {"fwd": "tn", "dgrad": "tt", "wgrad": "nt"}
MI300X_COMPUTE_UNITS = "304"
TARGET = "gfx942"
DEFAULT = [Convolution(*fields) for fields in (
    ("fwd", 64, 3, 224, 64, 7, 2), ("fwd", 64, 64, 56, 64, 3, 1), ("fwd", 64, 128, 28, 128, 3, 1),
    ("fwd", 64, 256, 56, 512, 1, 2), ("fwd", 64, 256, 14, 256, 3, 1),
    ("dgrad", 64, 128, 28, 128, 3, 1), ("dgrad", 64, 128, 56, 128, 3, 2),
    ("wgrad", 64, 64, 56, 64, 3, 1), ("wgrad", 64, 128, 28, 128, 3, 1),
    ("wgrad", 64, 512, 14, 512, 3, 2))]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="DIRECTION,IMAGES,CHANNELS,SIZE,FILTERS,WINDOW,STRIDE (default: layers "
                             "of ResNet-50)")
    parser.add_argument("--kiln", default="kiln", metavar="PATH", help="the kiln program")
    parser.add_argument("--emulator", type=Path, metavar="LIBRARY",
                        default=os.environ.get("KILN_HIP_LIBRARY"),
                        help="the emulator's HIP library (default: KILN_HIP_LIBRARY)")
    return parser.parse_args()


def parse_case(text: str) -> Convolution:
    direction, *numbers = text.split(",")
    return Convolution(direction, *map(int, numbers))


def predict(options: argparse.Namespace, graph: Path, directory: Path) -> list[float]:
    """Microseconds of each kernel."""
    file = directory / f"{graph.stem}.predictions"
    environment = {"KILN_HIP_LIBRARY": str(options.emulator), "EMU_ARCH": TARGET,
                   "EMU_TIMING": str(file), "EMU_TIMING_ONLY": "1", "EMU_CU": MI300X_COMPUTE_UNITS}
    subprocess.run([options.kiln, "run", "--device", "hip", str(graph)], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    return [json.loads(line)["kernel_us"] for line in file.read_text().splitlines()]


def row(options: argparse.Namespace, case: Convolution, directory: Path) -> list[Any]:
    m, n, k = case.product()
    product = Product("f16", LAYOUTS[case.direction], m, n, k)
    times = predict(options, case.save(directory), directory)
    of_product = sum(predict(options, product.save(directory), directory))
    return [case.name, " + ".join(f"{time:.1f}" for time in times),
            f"{case.operations / sum(times) / 1e6:.0f}", f"{m} x {n} x {k}",
            f"{2 * m * n * k / of_product / 1e6:.0f}"]


def main() -> int:
    options = parse_arguments()
    if options.emulator is None:
        print("name the emulator's HIP library with --emulator or KILN_HIP_LIBRARY",
              file=sys.stderr)
        return 1
    cases = [parse_case(case) for case in options.cases] or DEFAULT
    with tempfile.TemporaryDirectory(prefix="kiln-conv-") as directory:
        rows = [row(options, case, Path(directory)) for case in cases]
    print(table(["convolution", "us", "TFLOP/s", "product", "TFLOP/s"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
