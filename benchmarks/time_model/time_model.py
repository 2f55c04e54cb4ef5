#!/usr/bin/env python3
"""Compares the model of time with times: the schedule that Kiln chooses for each product or convolution, beside others.

Times are measured on a GPU, or predicted by an emulator of AMD GPUs (--emulator). See README.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "amd"))
from convolution_graphs import Convolution  # noqa: E402
from matmul_graphs import Product  # noqa: E402

TILES = ("16x16", "32x64", "64x64", "64x128", "128x64", "128x128", "256x128", "256x256")
SPLITS = ("1", "2", "4", "8")
FARTHEST = 2.0  # alternatives that the model says take longer, times the choice, are left out
MI300X_COMPUTE_UNITS = "304"
SIZES = (64, 256, 512, 768, 1024, 1536, 2048, 3072, 4096)
ROWS = (1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048)
RESNET = ((64, 56, 64, 1, 1), (64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (64, 56, 64, 3, 1),
          (128, 28, 128, 3, 1), (512, 28, 128, 1, 1), (256, 14, 256, 3, 1), (1024, 14, 256, 1, 1),
          (512, 7, 512, 3, 1), (2048, 7, 512, 1, 1))


@dataclass(frozen=True)
class Timed:
    """A schedule: its options, what the model says, and its time. Microseconds."""

    what: str
    options: tuple[str, ...]
    modelled: float
    us: float


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kiln", default="kiln", metavar="PATH", help="the kiln program")
    parser.add_argument("--target", default="gfx942", help="target of the GPU (default: gfx942)")
    parser.add_argument("--device", default="hip", help="device of the GPU: hip or cuda (default: hip)")
    parser.add_argument("--emulator", metavar="LIBRARY",
                        help="the emulator's HIP library, instead of a GPU; gfx942 is an MI300X there")
    parser.add_argument("--shapes", type=int, default=60, help="number of shapes (default: 60)")
    parser.add_argument("--alternatives", type=int, default=3,
                        help="schedules beside the chosen one (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the shapes (default: 1)")
    return parser.parse_args()


def shapes(seed: int, count: int) -> Iterator[Product | Convolution]:
    """Two products, of few rows and of any, for each convolution."""
    dice = random.Random(seed)
    for i in range(count):
        layout, dtype = dice.choice(("tn", "tt", "nn", "nt")), dice.choice(("f16", "bf16"))
        if i % 3 == 2:
            channels, size, filters, window, stride = dice.choice(RESNET)
            yield Convolution(dice.choice(("fwd", "dgrad", "wgrad")), dice.choice((1, 8, 32)),
                              channels, size, filters, window, stride)
        elif i % 3 == 1:
            yield Product(dtype, layout, *(dice.choice(SIZES) for _ in "mnk"))
        else:
            yield Product(dtype, layout, dice.choice(ROWS), dice.choice(SIZES[4:]),
                          dice.choice(SIZES[4:]))


class Bench:
    """The kiln program, and where its times come from."""

    def __init__(self, options: argparse.Namespace, directory: Path) -> None:
        self.options = options
        self.directory = directory
        self.predictions = directory / "predictions"

    def _kiln(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run([self.options.kiln, *arguments], capture_output=True, text=True,
                              check=True, env={**os.environ, **environment})
        return done.stdout

    def explain(self, graph: Path, forced: tuple[str, ...]) -> tuple[str, float] | None:
        """The schedules of the graph's kernels and the model's time; none where they are not possible."""
        try:
            text = self._kiln("explain", "--target", self.options.target, "--json", *forced,
                              str(graph), KILN_ENFORCE_PRECOMPILED="1", KILN_CACHE_DIR="")
        except subprocess.CalledProcessError:
            return None
        kernels = json.loads(text)["kernels"]
        chosen = [item["what"] for kernel in kernels for item in kernel["schedules"]
                  if item["chosen"]]
        return (f"{' + '.join(chosen)} ({len(kernels)})",
                sum(kernel["model"]["time_us"] for kernel in kernels))

    def time(self, graph: Path, forced: tuple[str, ...]) -> float:
        if self.options.emulator is None:
            text = self._kiln("bench", "--device", self.options.device, "--no-unfused", "--samples",
                              "5", "--json", *forced, str(graph))
            return json.loads(text)["results"][0]["fused"]["time"]["median_us"]
        self.predictions.unlink(missing_ok=True)
        self._kiln("run", "--device", "hip", *forced, str(graph), KILN_CACHE_DIR="",
                   KILN_HIP_LIBRARY=self.options.emulator, EMU_ARCH=self.options.target,
                   EMU_CU=MI300X_COMPUTE_UNITS, EMU_TIMING=str(self.predictions),
                   EMU_TIMING_ONLY="1")
        lines = self.predictions.read_text().splitlines()
        return sum(json.loads(line)["kernel_us"] for line in lines)

    def schedules(self, shape: Product | Convolution) -> list[Timed]:
        """The chosen schedule first, then others, from those on that the model prefers."""
        graph = shape.save(self.directory)
        chosen = self.explain(graph, ())
        if chosen is None:
            return []
        found = {chosen[0]: ((), chosen[1])}
        for forced in [("--tile", tile) for tile in TILES] + [("--split-k", n) for n in SPLITS]:
            other = self.explain(graph, forced)
            if other is not None and other[1] <= FARTHEST * chosen[1]:
                found.setdefault(other[0], (forced, other[1]))
        best = sorted(found.items(), key=lambda item: (item[1][0] != (), item[1][1]))
        timed = []
        for what, (forced, modelled) in best[:1 + self.options.alternatives]:
            try:
                timed.append(Timed(what, forced, modelled, self.time(graph, forced)))
            except subprocess.CalledProcessError as error:
                print(f"{shape.name}, {what}: {error.stderr.strip()}", file=sys.stderr)
        return timed if timed and timed[0].options == () else []


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> int:
    options = parse_arguments()
    losses, errors = [], []
    print("| shape | chosen | us | model, us | fastest other | us | model, us | chosen / other |")
    print("| --- | --- | ---: | ---: | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="kiln-model-") as directory:
        bench = Bench(options, Path(directory))
        for shape in shapes(options.seed, options.shapes):
            timed = bench.schedules(shape)
            if len(timed) < 2:
                continue
            chosen, other = timed[0], min(timed[1:], key=lambda item: item.us)
            losses.append(chosen.us / min(chosen.us, other.us))
            errors += [item.modelled / chosen.modelled / (item.us / chosen.us)
                       for item in timed[1:]]
            print(f"| {shape.name} | {chosen.what} | {chosen.us:.1f} | {chosen.modelled:.1f} "
                  f"| {other.what} | {other.us:.1f} | {other.modelled:.1f} "
                  f"| {chosen.us / other.us:.2f} |", flush=True)
    if not losses:
        print("no shape has a second schedule")
        return 1
    spread = geometric_mean([max(error, 1 / error) for error in errors])
    print(f"\nseed {options.seed}, {len(losses)} shapes: the choice takes "
          f"{geometric_mean(losses):.2f} times the fastest (geometric mean), at worst "
          f"{max(losses):.2f}; {sum(loss > 1.1 for loss in losses)} by more than a tenth. "
          f"The ratio of two schedules is wrong by {spread:.2f} times, of {len(errors)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
