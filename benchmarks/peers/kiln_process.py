"""Kiln's side: the kiln program, one process for each question."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 900


class KilnFailed(Exception):
    """The program's own words."""


@dataclass(frozen=True)
class Kiln:
    program: str
    device: str  # "cuda" or "hip"

    def _run(self, *arguments: str) -> str:
        try:
            done = subprocess.run([self.program, *arguments], capture_output=True, text=True,
                                  timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise KilnFailed(f"kiln {arguments[0]} took more than {TIMEOUT_S} s") from None
        if done.returncode != 0:
            reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise KilnFailed(f"kiln {arguments[0]}: {reason}")
        return done.stdout

    def save_graphs(self, directory: Path, cases: list[str], elements: int | None) -> list[Path]:
        """The graphs of the cases, which may be files too, as JSON named after them. Those that
        Kiln cannot read are told of and left out."""
        if not cases:
            listed = json.loads(self._run("bench", "--list", "--json"))["suite"]
            cases = [case["name"] for case in listed]
        size = ["--elements", str(elements)] if elements is not None else []
        target = ["--save-graphs", str(directory)]
        try:
            self._run("bench", "--device", self.device, *size, *target, *cases)
        except KilnFailed as error:
            if not any(directory.glob("*.json")):
                raise
            print(error, file=sys.stderr)
        return sorted(directory.glob("*.json"))

    def bench(self, graph: Path, samples: int) -> dict[str, Any]:
        """The graph's result as in the JSON of kiln bench."""
        text = self._run("bench", "--device", self.device, "--samples", str(samples), "--json",
                         str(graph))
        result: dict[str, Any] = json.loads(text)["results"][0]
        return result

    def execute(self, graph: Path, inputs: dict[int, bytes], outputs: list[int],
                directory: Path) -> dict[int, bytes]:
        """Memory of the outputs after one execution, by uid. Files are left in the directory."""
        options = []
        for uid, memory in inputs.items():
            (directory / f"input{uid}").write_bytes(memory)
            options += ["--input", f"{uid}={directory}/input{uid}"]
        for uid in outputs:
            options += ["--output", f"{uid}={directory}/output{uid}"]
        self._run("run", "--device", self.device, *options, str(graph))
        return {uid: (directory / f"output{uid}").read_bytes() for uid in outputs}
