"""benchmarks/peers without PyTorch. KILN names the program whose suite is translated."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import compare_with_pytorch
from graph_to_torch import Translation, translate
from hipdnn_graph import Graph, NotTranslated, read_graph
from measurement import CaseResult, Time, summarize
from report import COLUMNS, conclusions, to_json, to_markdown, to_text

SOURCES = Path(compare_with_pytorch.__file__).parent


def save_suite(directory: str) -> dict[str, Graph]:
    subprocess.run([os.environ["KILN"], "bench", "--elements", "65536", "--save-graphs", directory],
                   check=True)
    return {path.stem: read_graph(path) for path in Path(directory).glob("*.json")}


def call(translation: Translation, torch: mock.MagicMock) -> tuple[object, ...]:
    """With objects that take any operation in the place of tensors."""
    namespace: dict[str, object] = {"torch": torch, "F": mock.MagicMock()}
    exec(translation.source, namespace)
    function = namespace[translation.function]
    assert callable(function)
    results = function(*(mock.MagicMock() for _ in translation.arguments))
    assert isinstance(results, tuple)
    return results


class SuiteTest(unittest.TestCase):
    graphs: dict[str, Graph]

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as directory:
            cls.graphs = save_suite(directory)

    def body(self, name: str) -> list[str]:
        return [line.strip() for line in translate(self.graphs[name]).source.splitlines()[1:-1]]

    def test_every_case_becomes_a_function_that_returns_its_outputs(self) -> None:
        self.assertGreater(len(self.graphs), 40)
        for name, graph in self.graphs.items():
            for exact in (False, True):
                with self.subTest(name, exact=exact):
                    translation = translate(graph, exact)
                    torch = mock.MagicMock()
                    several = [mock.MagicMock() for _ in range(3)]
                    torch.ops.aten.native_layer_norm_backward.return_value = several
                    torch.ops.aten.native_batch_norm_backward.return_value = several
                    self.assertEqual(len(call(translation, torch)), len(translation.outputs))
                    inside = len(translation.kept_inside)
                    self.assertEqual(len(translation.outputs) + inside, len(graph.outputs))
                    used = {argument.uid for argument in translation.arguments}
                    self.assertEqual(used, {tensor.uid for tensor in graph.inputs})

    def test_softmax_is_recognised(self) -> None:
        self.assertEqual(self.body("softmax_fp16"), ["t6_y = torch.softmax(t1_x, dim=1)"])
        self.assertEqual(translate(self.graphs["softmax_fp16"]).idioms, ("softmax",))
        backward = "t6_dx = torch.ops.aten._softmax_backward_data(t1_dy, t2_y, 1, t2_y.dtype)"
        self.assertEqual(self.body("softmax_backward_fp32"), [backward])

    def test_softmax_whose_sum_is_an_output_stays_written_out(self) -> None:
        graph = self.graphs["softmax_fp32"]
        tensors = dict(graph.tensors)
        tensors[5] = dataclasses.replace(tensors[5], name="sum", is_virtual=False)
        translation = translate(Graph(graph.name, tensors, graph.nodes))
        self.assertEqual(translation.idioms, ())
        self.assertIn("t5_sum = torch.sum(t4, dim=(1,), keepdim=True)", translation.source)

    def test_silu_is_recognised(self) -> None:
        self.assertEqual(self.body("swiglu_fp16"), ["t4 = F.silu(t1_a)", "t5_y = t4 * t2_b"])

    def test_intermediates_of_half_stay_half(self) -> None:
        lines = ["t3 = t1_x + t2_bias", 't4_y = F.gelu(t3, approximate="tanh")']
        self.assertEqual(self.body("bias_gelu_tanh_fp16"), lines)

    def test_a_narrower_output_is_rounded_except_in_the_exact_form(self) -> None:
        graph = self.graphs["add_relu_fp16"]
        tensors = dict(graph.tensors)
        tensors[1] = dataclasses.replace(tensors[1], dtype="FLOAT")
        wide = Graph(graph.name, tensors, graph.nodes)
        self.assertIn("torch.relu(t3).to(torch.float16)", translate(wide).source)
        self.assertNotIn(".to(", translate(wide, exact=True).source)

    def test_parameters_are_prepared_as_modules_hold_them(self) -> None:
        graph = self.graphs["layernorm_fp16"]
        tensors = dict(graph.tensors)
        tensors[2] = dataclasses.replace(tensors[2], dtype="FLOAT")
        prepared = {argument.name: argument.prepare for argument in
                    translate(Graph(graph.name, tensors, graph.nodes)).arguments}
        expected = "{}.reshape((8192,)).to(torch.float16)"
        self.assertEqual(prepared["t2_scale_parameter"], expected)
        prepared = {argument.name: argument.prepare for argument in
                    translate(self.graphs["batchnorm_inference_relu_fp16"]).arguments}
        expected = "{}.reshape(-1).pow(-2).sub(1e-05)"
        self.assertEqual(prepared["t3_inv_variance_as_variance"], expected)

    def test_names_are_any_text(self) -> None:
        graph = self.graphs["copy_fp32"]
        tensors = {uid: dataclasses.replace(tensor, name="x²\n\"):\n") for uid, tensor
                   in graph.tensors.items()}
        translation = translate(Graph("²" * 300, tensors, graph.nodes))
        self.assertEqual(len(call(translation, mock.MagicMock())), 1)

    def test_fewest_bytes_and_footprint(self) -> None:
        graph = self.graphs["transpose_add_fp16"]
        self.assertEqual(graph.fewest_bytes, 3 * 256 * 256 * 2)
        self.assertEqual(graph.tensors[2].strides, (1, 256))
        self.assertEqual(graph.tensors[2].footprint, 256 * 256)


class UntranslatedTest(unittest.TestCase):
    def read(self, text: str) -> Graph:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "graph.json"
            path.write_text(text, encoding="utf-8")
            return read_graph(path)

    def test_a_node_without_translation_is_named(self) -> None:
        node = '{"attributes_type": "MatmulAttributes", "attributes": {}}'
        with self.assertRaisesRegex(NotTranslated, "MatmulAttributes"):
            self.read(f'{{"tensors": [], "nodes": [{node}]}}')

    def test_a_mode_without_translation_is_named(self) -> None:
        tensors = ('{"uid": 1, "data_type": "FLOAT", "dims": [4], "strides": [1]},'
                   '{"uid": 2, "data_type": "FLOAT", "dims": [4], "strides": [1]}')
        node = ('{"attributes_type": "PointwiseAttributes", "attributes": {"operation": "%s",'
                '"in_0_tensor_uid": 1, "out_0_tensor_uid": 2, "swish_beta": %s}}')
        for mode, beta in (("GEN_INDEX", 1), ("SWISH_FWD", 2)):
            text = f'{{"tensors": [{tensors}], "nodes": [{node % (mode, beta)}]}}'
            with self.assertRaisesRegex(NotTranslated, mode):
                translate(self.read(text))


class ReportTest(unittest.TestCase):
    def results(self) -> list[CaseResult]:
        def steady(seconds: float) -> Time:
            return Time(seconds, seconds, seconds, 30)

        measured = CaseResult("softmax_fp16", bytes_fewest=4_000_000_000, kiln=steady(1e-3),
                              eager=steady(4e-3), compiled=steady(2e-3), kiln_copy=steady(9e-4),
                              kiln_compile_s=0.05, torch_compile_s=1.0,
                              errors={"Kiln and double": 0.5}, disagreements=("Kiln and double",))
        return [measured, CaseResult("matmul", failure="not translated: MatmulAttributes")]

    def test_percentiles(self) -> None:
        time = summarize([float(i) for i in range(10, -1, -1)])
        self.assertEqual((time.low_s, time.median_s, time.high_s, time.samples), (1, 5, 9, 11))
        self.assertTrue(math.isclose(time.noise, 0.8))

    def test_table(self) -> None:
        results = self.results()
        cells = dict(zip([heading for heading, _ in COLUMNS],
                         [show(results[0]) for _, show in COLUMNS]))
        self.assertEqual(cells["Kiln GB/s"], "4000")
        self.assertEqual(cells["unfused"], "-")
        self.assertEqual(cells["of copy"], "90%")
        self.assertEqual(cells["Kiln/compile"], "2.00 ±0.00")
        self.assertEqual(cells["Kiln/eager"], "4.00 ±0.00")
        self.assertEqual(cells["ratio"], "20.0")
        self.assertEqual(cells["results"], "differs: Kiln and double")
        self.assertIn("matmul: not translated: MatmulAttributes", conclusions(results))
        self.assertEqual(to_text(results).splitlines()[1].split()[0], "softmax_fp16")
        rows = [line for line in to_markdown({"device": "x"}, results).splitlines() if "|" in line]
        self.assertEqual({row.count("|") for row in rows}, {len(COLUMNS) + 1})
        self.assertEqual(to_json({}, results)["results"][0]["kiln_over_compiled"], 2)

    def test_json_has_no_nan(self) -> None:
        results = self.results()
        results[0].errors = {"Kiln and double": math.nan, "eager and double": 0.5}
        written = json.dumps(to_json({}, results), allow_nan=False)
        self.assertEqual(json.loads(written)["results"][0]["errors"],
                         {"Kiln and double": None, "eager and double": 0.5})

    def test_results_of_kiln_are_taken(self) -> None:
        time = {"median_s": 2.0, "low_s": 1.0, "high_s": 3.0, "samples": 5}
        result = CaseResult("x")
        compare_with_pytorch.take_kiln_results(result, {
            "bytes_fewest": 8, "fused": {"time": time, "compile_cold_s": None}, "unfused": None,
            "copy": {"time": time}})
        self.assertEqual(result.rate(result.kiln), 4)
        self.assertEqual((result.unfused, result.share_of_copy), (None, 1))


class ProgramTest(unittest.TestCase):
    def test_all_files_are_python(self) -> None:
        for path in SOURCES.glob("*.py"):
            compile(path.read_text(encoding="utf-8"), str(path), "exec")

    def run_program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Nothing is found that is installed: as a Python without PyTorch.
        program = [sys.executable, "-B", "-S", str(SOURCES / "compare_with_pytorch.py")]
        return subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)

    def test_what_is_missing_is_one_sentence(self) -> None:
        for arguments, words in ((["--kiln", "/nowhere"], "program '/nowhere' was not found"),
                                 (["--kiln", sys.executable], "has no PyTorch")):
            done = self.run_program(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
