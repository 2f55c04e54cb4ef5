#!/usr/bin/env python3
"""Measures graphs in Kiln, in PyTorch's eager mode and under torch.compile, in one run."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_to_torch import translate
from hipdnn_graph import NotTranslated, read_graph
from kiln_process import Kiln, KilnFailed
from measurement import CaseResult, Time, summarize
from report import to_json, to_markdown, to_text

SMALL_ELEMENTS = 1 << 20  # of the graphs whose results are compared with double precision
MOST_CHECKED_ELEMENTS = 1 << 24  # graphs that come in files are not made smaller
UNTRANSLATED = "not translated"
EXIT_FAILED, EXIT_ENVIRONMENT = 1, 2


class Unusable(Exception):
    """This machine cannot do it; the text says what is missing."""


@dataclass
class Run:
    options: argparse.Namespace
    kiln: Kiln
    directory: Path  # temporary


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE",
                        help="case of kiln bench's suite or graph file (default: the suite)")
    parser.add_argument("--kiln", default="kiln", metavar="PATH", help="the kiln program")
    parser.add_argument("--device", choices=("cuda", "hip"),
                        help="Kiln's device (default: what torch is built for)")
    parser.add_argument("--elements", type=int, metavar="N",
                        help="elements of large tensors (default: kiln bench's)")
    parser.add_argument("--samples", type=int, default=30, metavar="N",
                        help="samples of each contestant (default: 30)")
    parser.add_argument("--compile-mode", default="default",
                        choices=("default", "max-autotune-no-cudagraphs"))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown")
    options = parser.parse_args(arguments)
    for name in ("elements", "samples"):
        number = getattr(options, name)
        if number is not None and number < 1:
            parser.error(f"--{name} is 1 at least")
    return options


def require_torch(device: str | None) -> tuple[str, dict[str, str]]:
    """Kiln's device, and what is measured on."""
    try:
        import torch
    except ImportError as error:
        raise Unusable(f"this Python has no PyTorch ({error})") from error
    built_for = "hip" if torch.version.hip else "cuda"
    if not torch.cuda.is_available():
        raise Unusable(f"PyTorch {torch.__version__} finds no {built_for.upper()} device")
    if device and device != built_for:
        raise Unusable(f"device '{device}' is not what PyTorch {torch.__version__} is built for: "
                       f"{built_for}")
    return built_for, {
        "device": torch.cuda.get_device_name(),
        "PyTorch": torch.__version__,
        built_for.upper(): str(torch.version.hip or torch.version.cuda),
    }


def find_kiln(path: str) -> str:
    found = shutil.which(path)
    if not found:
        raise Unusable(f"program '{path}' was not found; --kiln takes its path")
    return found


# ---- one case ----


def check_small(run: Run, path: Path, result: CaseResult) -> None:
    """Eager PyTorch and Kiln against the same function in double precision."""
    import torch_peer as peer

    graph = read_graph(path)
    if graph.largest > MOST_CHECKED_ELEMENTS:
        return
    translation = translate(graph)
    inputs = peer.make_inputs(graph, translation)
    wide = {uid: x.double() for uid, x in inputs.items()}
    expected = peer.evaluate(translate(graph, exact=True), wide, run.directory)
    eager = peer.evaluate(translation, inputs, run.directory)
    compare(result, "eager and double", *peer.largest_error(graph, translation, eager, expected))
    memory = {uid: peer.memory_of(x, graph.tensors[uid]) for uid, x in inputs.items()}
    written = run.kiln.execute(path, memory, list(translation.outputs), run.directory)
    ours = [peer.from_memory(written[uid], graph.tensors[uid]) for uid in translation.outputs]
    compare(result, "Kiln and double", *peer.largest_error(graph, translation, ours, expected))


def compare(result: CaseResult, name: str, error: float, is_fine: bool) -> None:
    result.errors = (result.errors or {}) | {name: error}
    if not is_fine:
        result.disagreements += (name,)


def take_kiln_results(result: CaseResult, document: dict[str, Any]) -> None:
    def time_of(contestant: str) -> Time | None:
        time = (document.get(contestant) or {}).get("time")
        if not time:
            return None
        return Time(time["median_us"] * 1e-6, time["low_us"] * 1e-6, time["high_us"] * 1e-6,
                    time["samples"])

    result.bytes_fewest = document["bytes_fewest"]
    result.kiln, result.unfused, result.kiln_copy = map(time_of, ("fused", "unfused", "copy"))
    result.kiln_copy_bytes = (document.get("copy") or {}).get("bytes_moved", 0)
    cold_us = document["fused"].get("compile_cold_us")
    result.kiln_compile_s = cold_us * 1e-6 if cold_us is not None else None


def measure(run: Run, path: Path, result: CaseResult) -> None:
    """PyTorch, Kiln, and PyTorch again."""
    import torch_peer as peer

    graph = read_graph(path)
    translation = translate(graph)
    result.code, result.idioms = translation.source, translation.idioms
    result.kept_inside = translation.kept_inside
    sets = peer.make_sets(graph, translation)
    function = peer.make_function(translation, run.directory)
    mode, half = run.options.compile_mode, (run.options.samples + 1) // 2
    compiled, result.torch_compile_s = peer.compile_timed(function, sets[0], mode)
    results, expected = list(compiled(*sets[0])), list(function(*sets[0]))
    error = peer.largest_error(graph, translation, results, expected)
    compare(result, "compile and eager", *error)
    del results, expected
    copy, result.torch_copy_bytes = peer.make_copy(graph.fewest_bytes)
    timer = peer.Timer({
        "eager": peer.make_contestant(function, sets),
        "compiled": peer.make_contestant(compiled, sets),
        "copy": copy,
    })
    before = timer.measure(half)
    take_kiln_results(result, run.kiln.bench(path, run.options.samples))
    after = timer.measure(half)
    result.eager, result.compiled, result.torch_copy = (
        summarize(before[name] + after[name]) for name in timer.contestants)


def run_case(run: Run, path: Path, small: Path) -> CaseResult:
    """Whatever goes wrong is the case's failure, and the next one is measured."""
    import torch

    result = CaseResult(path.stem)
    torch.manual_seed(1)
    try:
        with torch.no_grad():
            measure(run, path, result)
            torch.cuda.empty_cache()
            check_small(run, small, result)
    except NotTranslated as error:
        result.failure = f"{UNTRANSLATED}: {error}"
    except KilnFailed as error:
        result.failure = str(error)
    except Exception as error:  # noqa: BLE001 - anything that PyTorch's compiler may throw
        lines = str(error).strip().splitlines() or [""]
        result.failure = f"PyTorch, {type(error).__name__}: {lines[0]}"
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    return result


# ---- all of them ----


def write_results(options: argparse.Namespace, environment: dict[str, str],
                  results: list[CaseResult]) -> None:
    if options.json:
        document = to_json(environment, results)
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(to_markdown(environment, results), encoding="utf-8")


def run_all(run: Run, environment: dict[str, str]) -> int:
    import torch_peer as peer

    options = run.options
    large, small = run.directory / "large", run.directory / "small"
    paths = run.kiln.save_graphs(large, options.cases, options.elements)
    run.kiln.save_graphs(small, options.cases, SMALL_ELEMENTS)
    peer.start_compiler(options.compile_mode)
    results = []
    for number, path in enumerate(paths, start=1):
        print(f"{number} of {len(paths)}: {path.stem}", file=sys.stderr)
        results.append(run_case(run, path, small / path.name))
        write_results(options, environment, results)
    print(to_text(results), end="")
    failed = [r for r in results if r.disagreements
              or (r.failure and not r.failure.startswith(UNTRANSLATED))]
    return EXIT_FAILED if failed else 0


def main() -> int:
    options = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="kiln-peers-") as name:
        directory = Path(name)
        # Before torch reads them: what it compiled in another run must not be found.
        for variable in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
            os.environ[variable] = str(directory / variable.lower())
        try:
            program = find_kiln(options.kiln)
            device, environment = require_torch(options.device)
            environment["mode"] = options.compile_mode
            return run_all(Run(options, Kiln(program, device), directory), environment)
        except (Unusable, KilnFailed, OSError) as error:
            print(f"compare_with_pytorch: {error}", file=sys.stderr)
            return EXIT_ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main())
