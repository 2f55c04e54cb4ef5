#!/usr/bin/env python3
"""Launches an attention kernel that triton_attention.py compiled on the emulator, once. Needs numpy and the emulator's amdrun.

usage: launch_triton_attention.py EMULATOR CODE.hsaco HEADS LENGTH

The emulator's options are in the environment; buffers are zeros.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from launch_triton import buffer

HALF = ("Q", "K", "V", "desc_q", "desc_k", "desc_v", "desc_o", "DO", "DQ", "DK", "DV")


def main() -> None:
    emulator, code = sys.argv[1], Path(sys.argv[2])
    heads, length = map(int, sys.argv[3:5])
    sys.path.insert(0, emulator)
    from amdrun import Module, option  # pylint: disable=import-error,import-outside-toplevel
    for name, value in os.environ.items():
        if name.startswith(("EMU_TIMING", "EMU_STATS", "EMU_TRACE", "EMU_VERBOSE", "EMU_THREADS")):
            option(name.removeprefix("EMU_"), value)
    facts = json.loads(code.with_suffix(".json").read_text())
    size = facts["size"]
    integers = {"Z": 1, "H": heads, "N_CTX": length}
    integers |= {"stride_z": heads * length * size, "stride_h": length * size, "stride_tok": size}
    given = []
    for name in facts["arguments"]:
        if name in HALF:
            given.append(buffer(heads * length * size, np.float16))
        elif name in ("M", "D"):
            given.append(buffer(heads * length, np.float32))
        else:
            given.append(np.float32(0.125) if name == "sm_scale" else np.int32(integers[name]))
    module = Module(str(code))
    symbol = module.kernels()[0]
    taken = [argument for argument in module.args(symbol) if not argument[2].startswith("hidden_")]
    given += [None] * (len(taken) - len(given))  # scratch that the kernel does not use
    tiles = -(-length // facts["rows"])
    grid = (tiles, heads, 1) if facts["kind"] == "forward" else (tiles, 1, heads)
    module.run(symbol, grid, (facts["work_items"],), given, facts["lds_bytes"])


if __name__ == "__main__":
    main()
