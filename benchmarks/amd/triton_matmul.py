#!/usr/bin/env python3
"""Compiles Triton's matmul for AMD GPUs, without a GPU: a peer for contraction_isa.py.

The kernel is that of Triton's tutorial, for sizes that are multiples of the tile: c = a b, in the layouts of matmul_graphs.py.
With --prologue dequantise b is int8 times a scale for each column. Writes for every target and configuration a code object and a JSON
file with what its launch needs. Needs the package triton, which nothing else here does.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

# Tile, and warps: those that Triton's tutorial and its users name for MI300X.
CONFIGURATIONS = ((256, 256, 64, 8), (256, 128, 64, 8), (128, 128, 64, 4))
STAGES = 2
GROUP_ROWS = 8
CHIPLETS = {"gfx942": 8, "gfx950": 8}
TYPES = {"f16": "fp16", "fp8": None, "bf16": "bf16", "i8": "i8"}
RESULTS = {"fp8": "fp16", "i8": "i32"}  # of others the operands' type
FP8 = {"gfx942": "fp8e4b8", "gfx950": "fp8e4nv", "gfx1200": "fp8e4nv", "gfx1201": "fp8e4nv"}


@triton.jit
def matmul(a, b, c, scale, m, n, k, tile_m: tl.constexpr, tile_n: tl.constexpr,
           tile_k: tl.constexpr, group_rows: tl.constexpr, chiplets: tl.constexpr,
           a_is_along_k: tl.constexpr, b_is_along_k: tl.constexpr, is_scaled: tl.constexpr):
    group = tl.program_id(0)
    rows = tl.cdiv(m, tile_m)
    columns = tl.cdiv(n, tile_n)
    if chiplets > 1:
        group = (group % chiplets) * ((rows * columns) // chiplets) + group // chiplets
    width = group_rows * columns
    first = group // width * group_rows
    height = min(rows - first, group_rows)
    row = first + (group % width) % height
    column = (group % width) // height
    at_m = row * tile_m + tl.arange(0, tile_m)
    at_n = column * tile_n + tl.arange(0, tile_n)
    at_k = tl.arange(0, tile_k)
    if a_is_along_k:
        left = a + at_m[:, None] * k + at_k[None, :]
    else:
        left = a + at_m[:, None] + at_k[None, :] * m
    if b_is_along_k:
        right = b + at_k[:, None] + at_n[None, :] * k
    else:
        right = b + at_k[:, None] * n + at_n[None, :]
    sums = tl.zeros((tile_m, tile_n), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    if is_scaled:
        scales = tl.load(scale + at_n)
    for _ in range(0, k, tile_k):
        if is_scaled:
            weights = (tl.load(right).to(tl.float32) * scales[None, :]).to(a.dtype.element_ty)
        else:
            weights = tl.load(right)
        sums = tl.dot(tl.load(left), weights, sums)
        left += tile_k if a_is_along_k else tile_k * m
        right += tile_k if b_is_along_k else tile_k * n
    tl.store(c + at_m[:, None] * n + at_n[None, :], sums.to(c.dtype.element_ty))


def compile_one(directory: Path, target: str, dtype: str, configuration: tuple[int, ...],
                layout: str, prologue: str) -> None:
    tile_m, tile_n, tile_k, warps = configuration
    wave = 64 if target.startswith("gfx9") else 32
    element = FP8[target] if dtype == "fp8" else TYPES[dtype]
    signature = {"a": f"*{element}", "b": "*i8" if prologue else f"*{element}",
                 "c": f"*{RESULTS.get(dtype, element)}", "scale": "*fp32", "m": "i32", "n": "i32", "k": "i32",
                 "tile_m": "constexpr", "tile_n": "constexpr", "tile_k": "constexpr",
                 "group_rows": "constexpr", "chiplets": "constexpr", "a_is_along_k": "constexpr",
                 "b_is_along_k": "constexpr", "is_scaled": "constexpr"}
    constants = {"tile_m": tile_m, "tile_n": tile_n, "tile_k": tile_k, "group_rows": GROUP_ROWS,
                 "chiplets": CHIPLETS.get(target, 1), "a_is_along_k": layout[0] == "t",
                 "b_is_along_k": layout[1] == "n", "is_scaled": bool(prologue)}
    multiples = {(index,): [["tt.divisibility", 16]]
                 for index, kind in enumerate(signature.values()) if kind != "constexpr"}
    source = ASTSource(matmul, signature, constants, multiples)
    compiled = triton.compile(source, target=GPUTarget("hip", target, wave),
                              options={"num_warps": warps, "num_stages": STAGES})
    tile = f"{tile_m}x{tile_n}x{tile_k}"
    name = "-".join(filter(None, (target, dtype, layout, tile, prologue)))
    (directory / f"{name}.hsaco").write_bytes(compiled.asm["hsaco"])
    metadata = compiled.metadata
    (directory / f"{name}.json").write_text(json.dumps({
        "name": name, "target": target, "dtype": dtype, "layout": layout,
        "prologue": prologue, "triton": triton.__version__, "symbol": metadata.name, "lds_bytes": metadata.shared,
        "tile": [tile_m, tile_n, tile_k], "work_items": warps * wave}) + "\n")
    print(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where the code objects go")
    parser.add_argument("--target", action="append", metavar="TARGET",
                        help="repeatable (default: gfx90a, gfx942, gfx1100, gfx1201)")
    parser.add_argument("--dtype", action="append", choices=tuple(TYPES),
                        help="repeatable (default: f16, and fp8 where the target has it)")
    parser.add_argument("--layout", choices=("tn", "tt", "nn", "nt"), default="tn")
    parser.add_argument("--prologue", choices=("dequantise",), default="")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    for target in options.target or ["gfx90a", "gfx942", "gfx1100", "gfx1201"]:
        has_fp8 = target in FP8 and not options.prologue
        for dtype in options.dtype or (("f16", "fp8") if has_fp8 else ("f16",)):
            for configuration in CONFIGURATIONS:
                try:
                    compile_one(options.directory, target, dtype, configuration, options.layout,
                                options.prologue)
                except Exception as error:  # pylint: disable=broad-except  (any of the compiler's)
                    print(f"{target} {dtype} {configuration}: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main()
