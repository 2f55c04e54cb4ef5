"""The kiln program: graphs of its benchmark suite, their schedules, and their execution."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 1800
ALIGNMENT_BYTES = 256  # of the tensors, as allocators place them


class KilnFailed(Exception):
    """The program's own words."""


@dataclass(frozen=True)
class Kernel:
    """What `kiln explain` says of one kernel of a graph."""

    symbol: str
    schedule: str  # without what follows from the number of rows alone: kept axes, grid
    template: str
    vgprs: int | None  # None: not compiled
    bytes_moved: int

    def runs_like(self, other: Kernel) -> bool:
        return self.schedule == other.schedule and self.vgprs == other.vgprs


def _run(program: str, arguments: list[str], environment: dict[str, str]) -> str:
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True,
                              env={**os.environ, **environment}, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise KilnFailed(f"kiln {arguments[0]} took more than {TIMEOUT_S} s") from None
    if done.returncode != 0:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise KilnFailed(f"kiln {arguments[0]}: {reason}")
    return done.stdout


def _align_tensors(path: Path) -> None:
    graph = json.loads(path.read_text())
    for tensor in graph["tensors"]:
        if not tensor.get("virtual"):
            tensor["alignment"] = ALIGNMENT_BYTES
    path.write_text(json.dumps(graph))


def _kernel(explained: dict[str, Any]) -> Kernel:
    text = explained["schedule"].strip()
    schedule = re.sub(r"axes [^,]*, |grid \d+, ", "", text)
    resources = explained["resources"]
    return Kernel(explained["symbol"], schedule, text.split(",")[0].removeprefix("template "),
                  resources and resources["vgprs"], explained["bytes_moved"])


@dataclass(frozen=True)
class Kiln:
    program: str

    def save_graphs(self, directory: Path, cases: list[str], elements: int) -> dict[str, Path]:
        """Writes the graphs of the cases, which may be files, with aligned tensors."""
        if not cases:
            listed = json.loads(_run(self.program, ["bench", "--list", "--json"], {}))["suite"]
            cases = [case["name"] for case in listed]
        _run(self.program, ["bench", "--save-graphs", str(directory), "--elements", str(elements),
                            *cases], {})
        paths = {path.stem: path for path in sorted(directory.glob("*.json"))}
        for path in paths.values():
            _align_tensors(path)
        return paths

    def explain(self, graph: Path, target: str, *, compiled: bool) -> list[Kernel]:
        without_compilers = {name: "/nonexistent"
                             for name in ("KILN_CLANG", "KILN_COMGR_LIBRARY",
                                          "KILN_NVRTC_LIBRARY")}
        without_compilers["KILN_CACHE_DIR"] = ""
        text = _run(self.program, ["explain", "--json", "--target", target, str(graph)],
                    {} if compiled else without_compilers)
        return [_kernel(kernel) for kernel in json.loads(text)["kernels"]]

    def execute(self, graph: Path, environment: dict[str, str],
                options: tuple[str, ...] = ()) -> None:
        _run(self.program, ["run", "--device", "hip", *options, str(graph)], environment)
