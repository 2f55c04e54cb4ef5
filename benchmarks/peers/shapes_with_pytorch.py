#!/usr/bin/env python3
"""The graphs of `kiln bench --sweep shapes` next to torch.compile: both in one process, taking turns,
replayed from CUDA graphs. README.md in this folder."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from graph_to_torch import translate
from hipdnn_graph import Graph, NotTranslated, read_graph
from taking_turns import KilnPlans, geometric_mean, times_in_turns
from torch_peer import dtype_of, largest_error, make_function, make_inputs, prepare

Tensors = list[torch.Tensor]


def make_outputs(graph: Graph) -> Tensors:
    return [torch.empty_strided(t.dims, t.strides, dtype=dtype_of(t), device="cuda")
            for t in graph.outputs]


def measure(path: Path, kiln: KilnPlans, directory: Path, samples: int) -> dict[str, Any]:
    graph = read_graph(path)
    translation = translate(graph)
    torch._dynamo.reset()
    uids = [tensor.uid for tensor in graph.inputs]
    out_uids = [tensor.uid for tensor in graph.outputs]
    own, kernels = kiln.functions(path.stem, (path.read_text(encoding="utf-8"), uids, out_uids),
                                  lambda: make_outputs(graph))
    function = make_function(translation, directory)
    compiled = torch.compile(function, fullgraph=True, dynamic=False)
    prepared: dict[int, Tensors] = {}  # the arguments of `function`, by the place of the first input

    def make_set() -> Tensors:
        inputs = make_inputs(graph, translation)
        prepared[inputs[uids[0]].data_ptr()] = prepare(translation, inputs)
        return [inputs[uid] for uid in uids]

    inputs = make_set()
    arguments = prepared[inputs[0].data_ptr()]
    results = dict(zip(out_uids, own(*inputs)))
    error, is_right = largest_error(graph, translation, [results[u] for u in translation.outputs],
                                    list(function(*arguments)))
    medians = times_in_turns((own, lambda *t: compiled(*prepared[t[0].data_ptr()])), inputs,
                             make_set, samples)
    return {"case": path.stem, "kernels": kernels, "kiln_s": medians[0], "torch_s": medians[1],
            "ratio": medians[1] / medians[0], "error": error, "is_right": is_right}


def print_summary(rows: list[dict[str, Any]]) -> None:
    kinds: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        kinds[row["case"].rpartition("_")[0]].append(row["ratio"])
    kinds["all"] = [row["ratio"] for row in rows]
    print(f"\n{'ratios (above 1, Kiln is faster)':34} cases   mean  worst")
    for kind, ratios in kinds.items():
        print(f"{kind:34} {len(ratios):5} {geometric_mean(ratios):6.2f} {min(ratios):6.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libkiln_plans.so of a build")
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--only", default="*", help="pattern of names, as in 'softmax_*_1023'")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("graphs", type=Path,
                        help="folder that kiln bench --sweep shapes --save-graphs has written")
    options = parser.parse_args()
    kiln = KilnPlans(options.library, "any", [0, 0, 0], [0, 0, 0])
    rows: list[dict[str, Any]] = []
    is_right = True
    print(f"{'case':34} kernels  kiln us  torch us  ratio  error")
    with tempfile.TemporaryDirectory() as directory:
        for path in sorted(options.graphs.glob("*.json")):
            if not fnmatch.fnmatch(path.stem, options.only):
                continue
            try:
                row = measure(path, kiln, Path(directory), options.samples)
            except NotTranslated as error:
                print(f"{path.stem:34} not translated: {error}", flush=True)
                continue
            except RuntimeError as error:
                print(f"{path.stem:34} FAILED: {str(error).splitlines()[0]}", flush=True)
                is_right = False
                continue
            rows.append(row)
            is_right = is_right and row["is_right"]
            print(f"{row['case']:34} {row['kernels']:7} {row['kiln_s'] * 1e6:8.1f} "
                  f"{row['torch_s'] * 1e6:9.1f} {row['ratio']:6.2f}  {row['error']:.1e}"
                  f"{'' if row['is_right'] else ' WRONG'}", flush=True)
            torch.cuda.empty_cache()
    if rows:
        print_summary(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
