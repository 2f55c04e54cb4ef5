#!/usr/bin/env python3
"""Counts the different kernels that the convolutions of ResNet-50 and MobileNet-v2 need, half,
channels last, and how many more an image or batch size needs that was not seen before. Nothing is
compiled or executed. See README.md."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from convolution_graphs import DIRECTIONS, Convolution
from kiln_graphs import Kernel, Kiln, KilnFailed
from rows import table

IMAGE = 224
BATCHES = (1, 8, 64)
UNSEEN = ((224, 16), (256, 64), (299, 5))  # image, batch

# Blocks: channels within, how many, stride of the first.
RESNET50 = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
RESNET50_WIDENING = 4
# Blocks: by how much channels are widened within, channels behind, how many, stride of the first.
MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                (6, 160, 3, 2), (6, 320, 1, 1))


def halved(size: int, stride: int) -> int:
    return (size + stride - 1) // stride


def resnet50(direction: str, images: int, size: int) -> set[Convolution]:
    """With the stride in the window's convolution, and in the first one as at first published."""

    def of(channels: int, size: int, filters: int, window: int, stride: int) -> Convolution:
        return Convolution(direction, images, channels, size, filters, window, stride)

    found = {of(3, size, 64, 7, 2)}
    size = halved(halved(size, 2), 2)
    channels = 64
    for width, blocks, first_stride in RESNET50:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            wide = width * RESNET50_WIDENING
            small = halved(size, stride)
            found |= {of(channels, size, width, 1, 1), of(width, size, width, 3, stride),
                      of(channels, size, width, 1, stride), of(width, small, width, 3, 1),
                      of(width, small, wide, 1, 1)}
            if block == 0:
                found.add(of(channels, size, wide, 1, stride))
            channels, size = wide, small
    return found


def mobilenet_v2(direction: str, images: int, size: int) -> set[Convolution]:
    found = {Convolution(direction, images, 3, size, 32, 3, 2)}
    size = halved(size, 2)
    channels = 32
    for widening, filters, blocks, first_stride in MOBILENET_V2:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            width = channels * widening
            if widening != 1:
                found.add(Convolution(direction, images, channels, size, width, 1, 1))
            found.add(Convolution(direction, images, width, size, width, 3, stride, groups=width))
            size = halved(size, stride)
            found.add(Convolution(direction, images, width, size, filters, 1, 1))
            channels = filters
    return found | {Convolution(direction, images, channels, size, 1280, 1, 1)}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directions", nargs="*", metavar="DIRECTION",
                        help=f"of {', '.join(DIRECTIONS)} (default: all)")
    parser.add_argument("--kiln", default="kiln", metavar="PATH", help="the kiln program")
    parser.add_argument("--target", default="gfx942", metavar="TARGET")
    parser.add_argument("--kernels", action="store_true",
                        help="print each kernel's schedule where it was first needed, too")
    return parser.parse_args()


class Counter:
    """The kernels seen so far, by symbol; which is made of the kernel's text."""

    def __init__(self, options: argparse.Namespace, directory: Path) -> None:
        self.options = options
        self.directory = directory
        self.kiln = Kiln(options.kiln)
        self.seen: dict[str, tuple[str, Kernel]] = {}

    def explain(self, case: Convolution) -> list[Kernel]:
        return self.kiln.explain(case.save(self.directory), self.options.target, compiled=False)

    def add(self, direction: str, images: int, size: int) -> list[tuple[str, Kernel]]:
        """The kernels that were not there yet."""
        cases = sorted(resnet50(direction, images, size) | mobilenet_v2(direction, images, size),
                       key=lambda case: case.name)
        before = set(self.seen)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for case, kernels in zip(cases, pool.map(self.explain, cases)):
                for kernel in kernels:
                    self.seen.setdefault(kernel.symbol, (case.name, kernel))
        return [found for symbol, found in self.seen.items() if symbol not in before]


def main() -> int:
    options = parse_arguments()
    rows = []
    try:
        with tempfile.TemporaryDirectory(prefix="kiln-kernels-") as directory:
            for direction in options.directions or DIRECTIONS:
                counter = Counter(options, Path(directory))
                for batch in BATCHES:
                    counter.add(direction, batch, IMAGE)
                if options.kernels:
                    for name, kernel in counter.seen.values():
                        print(f"{name}: {kernel.schedule}")
                cells = [direction, str(len(counter.seen))]
                for size, batch in UNSEEN:
                    new = counter.add(direction, batch, size)
                    cells.append(str(len(new)))
                    if options.kernels:
                        for name, kernel in new:
                            print(f"new, {name}: {kernel.schedule}")
                rows.append(cells)
    except KilnFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(table(["direction", "kernels",
                 *(f"more for batch {batch} of {size}" for size, batch in UNSEEN)], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
