#!/usr/bin/env python3
"""Compiles the flash attention of Triton's tutorial for AMD GPUs, without a GPU: a peer for attention_isa.py.

TUTORIAL is python/tutorials/06-fused-attention.py of a checkout of Triton, of the package's version; only its jit functions are taken.
Half numbers, heads of 64 and 128. Writes for every target and configuration a code object and a JSON file with what its launch
needs. Needs the package triton, which nothing else here does.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SIZES = (64, 128)
FORWARD_TILES = ((128, 64), (128, 32), (64, 64), (64, 32))  # those that the tutorial tries on AMD GPUs
# Rows and columns of either half, and by what masked tiles are smaller.
BACKWARD = {"BLOCK_M1": 32, "BLOCK_N1": 128, "BLOCK_M2": 128, "BLOCK_N2": 32,
            "BLK_SLICE_FACTOR": 2}
WARPS = 4
BACKWARD_STAGES = (5, 1)  # the tutorial's, and what AMD GPUs have LDS for


def jit_functions(tutorial: Path, directory: Path) -> ModuleType:
    """The rest of the file asks for a GPU. Triton reads functions' text, so they need a file."""
    lines = tutorial.read_text().splitlines(keepends=True)
    text = "import triton\nimport triton.language as tl\n"
    for node in ast.parse("".join(lines)).body:
        if isinstance(node, ast.FunctionDef) and any(
                ast.unparse(decorator) == "triton.jit" for decorator in node.decorator_list):
            text += "\n\n@triton.jit\n" + "".join(lines[node.lineno - 1:node.end_lineno])
    path = directory / "tutorial_kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_one(directory: Path, function: Any, target: str, facts: dict[str, Any],
                constants: dict[str, Any], options: dict[str, Any]) -> None:
    wave = 64 if target.startswith("gfx9") else 32
    floats, pointers = {"sm_scale"}, {"M": "*fp32", "D": "*fp32"}
    signature = {}
    for name in function.arg_names:
        is_pointer = name in ("Q", "K", "V", "Out", "DO", "DQ", "DK", "DV", "M", "D",
                              "desc_q", "desc_k", "desc_v", "desc_o")
        signature[name] = ("constexpr" if name in constants else "fp32" if name in floats
                           else pointers.get(name, "*fp16") if is_pointer else "i32")
    multiples = {(index,): [["tt.divisibility", 16]]
                 for index, kind in enumerate(signature.values())
                 if kind not in ("constexpr", "fp32")}
    compiled = triton.compile(ASTSource(function, signature, constants, multiples),
                              target=GPUTarget("hip", target, wave),
                              options={"num_warps": WARPS, **options})
    name = "-".join(str(part) for part in (target, facts["kind"], f"d{facts['size']}",
                                           "causal" if facts["is_causal"] else "full",
                                           facts["tile"], f"stages{options['num_stages']}"))
    (directory / f"{name}.hsaco").write_bytes(compiled.asm["hsaco"])
    (directory / f"{name}.json").write_text(json.dumps({
        **facts, "target": target, "triton": triton.__version__, "symbol": compiled.metadata.name,
        "lds_bytes": compiled.metadata.shared, "work_items": WARPS * wave,
        "arguments": [name for name, kind in signature.items() if kind != "constexpr"]}) + "\n")
    print(name)


def compile_all(directory: Path, kernels: ModuleType, target: str) -> None:
    common = {"FP8_OUTPUT": False, "warp_specialize": False, "IS_HOPPER": False}
    for size in SIZES:
        attempts = []
        for is_causal in (False, True):
            for rows, columns in FORWARD_TILES:
                facts = {"kind": "forward", "size": size, "is_causal": is_causal,
                         "tile": f"{rows}x{columns}", "rows": rows}
                constants = {**common, "HEAD_DIM": size, "BLOCK_M": rows, "BLOCK_N": columns,
                             "STAGE": 3 if is_causal else 1}
                attempts.append((kernels._attn_fwd, facts, constants,  # pylint: disable=protected-access
                                 {"num_stages": 1, "waves_per_eu": 3 if size <= 64 else 2,
                                  "allow_flush_denorm": True}))
        for stages in BACKWARD_STAGES:  # causal only, as in the tutorial
            facts = {"kind": "backward", "size": size, "is_causal": True, "tile": "128x32",
                     "rows": BACKWARD["BLOCK_N1"]}
            attempts.append((kernels._attn_bwd, facts,  # pylint: disable=protected-access
                             {**BACKWARD, "HEAD_DIM": size, "stride_d": 1, "CAUSAL": True},
                             {"num_stages": stages}))
        for function, facts, constants, options in attempts:
            try:
                compile_one(directory, function, target, facts, constants, options)
            except Exception as error:  # pylint: disable=broad-except  (any of the compiler's)
                print(f"{target} {facts} {options}: {str(error).splitlines()[0]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tutorial", type=Path, help="06-fused-attention.py")
    parser.add_argument("directory", type=Path, help="where the code objects go")
    parser.add_argument("--target", action="append", metavar="TARGET",
                        help="repeatable (default: gfx942, gfx1100)")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    kernels = jit_functions(options.tutorial, options.directory)
    for target in options.target or ["gfx942", "gfx1100"]:
        compile_all(options.directory, kernels, target)


if __name__ == "__main__":
    main()
