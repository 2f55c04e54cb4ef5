"""benchmarks/models without PyTorch. KILN names the program that reads the graphs."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from model_graphs import MODELS, Layer, Shape, View

TARGET = "gfx942"


def last_element(shape: Shape) -> int:
    return sum((dim - 1) * stride for dim, stride in zip(*shape))


class Models(unittest.TestCase):
    def test_each_layer_reads_what_was_written_before(self) -> None:
        for name, make in MODELS.items():
            model = make()
            known = {*model.inputs, *model.parameters}
            for step in model.steps:
                reads = step.inputs if isinstance(step, Layer) else [step.source]
                self.assertLessEqual(set(reads), known, f"{name}: {step.output}")
                self.assertNotIn(step.output, known, name)
                known.add(step.output)
            self.assertIn(model.output, known)

    def test_views_are_inside_of_their_source(self) -> None:
        views = 0
        for make in MODELS.values():
            model = make()
            for step in model.steps:
                if isinstance(step, View):
                    views += 1
                    self.assertLess(step.offset + last_element(step.shape),
                                    math.prod(model.shapes[step.source][0]))
        self.assertGreater(views, 8)

    def test_kiln_takes_each_layer_in_two_kernels_at_most(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "layer.json"
            texts = {layer.text: f"{name}: {layer.name}" for name, make in MODELS.items()
                     for layer in make().layers}
            for text, layer in texts.items():
                path.write_text(text, encoding="utf-8")
                done = subprocess.run([os.environ["KILN"], "explain", "-t", TARGET, "--json", path],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{layer}: {done.stderr}")
                self.assertLessEqual(len(json.loads(done.stdout)["kernels"]), 2, layer)


if __name__ == "__main__":
    unittest.main()
