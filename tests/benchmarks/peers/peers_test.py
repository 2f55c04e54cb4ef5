"""benchmarks/peers without PyTorch. KILN names the program whose suite is translated."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
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
    kiln = [os.environ["KILN"], "bench"]
    listed = subprocess.run([*kiln, "--list", "--json"], check=True, capture_output=True)
    cases = [case["name"] for case in json.loads(listed.stdout)["suite"]]
    subprocess.run([*kiln, "--elements", "65536", "--save-graphs", directory, *cases], check=True)
    return {path.stem: read_graph(path) for path in Path(directory).glob("*.json")}


def tensor(uid: int, dtype: str, dims: list[int], strides: list[int] | None = None,
           **more: object) -> dict[str, object]:
    packed = [math.prod(dims[axis + 1:]) for axis in range(len(dims))]
    return {"uid": uid, "data_type": dtype, "dims": dims, "strides": strides or packed} | more


def node(kind: str, attributes: dict[str, object]) -> dict[str, object]:
    return {"attributes_type": f"{kind}Attributes", "attributes": attributes}


def write_graph(path: Path, tensors: list[dict[str, object]],
                nodes: list[dict[str, object]]) -> Graph:
    document = {"name": "graph", "compute_data_type": "FLOAT", "tensors": tensors, "nodes": nodes}
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_graph(path)


def make_graph(tensors: list[dict[str, object]], nodes: list[dict[str, object]]) -> Graph:
    with tempfile.TemporaryDirectory() as directory:
        return write_graph(Path(directory) / "graph.json", tensors, nodes)


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


class FewestBytesTest(unittest.TestCase):
    """The floor of the traffic has to be Kiln's: rates of both copies are compared."""

    def graph_of_kilns_bytes(self, x: dict[str, object], *unused: dict[str, object]) -> Graph:
        """x + 1, for which Kiln counts as many bytes."""
        tensors = [x, tensor(2, "FLOAT", [1], value_type="Float32Value", value={"value": 1.0}),
                   tensor(3, "HALF", [64, 196]), *unused]
        add = node("Pointwise", {"operation": "ADD", "in_0_tensor_uid": 1, "in_1_tensor_uid": 2,
                                 "out_0_tensor_uid": 3})
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "graph.json"
            graph = write_graph(path, tensors, [add])
            explain = [os.environ["KILN"], "explain", "--target", "host", "--json", str(path)]
            done = subprocess.run(explain, check=True, stdout=subprocess.PIPE)
        self.assertEqual(graph.fewest_bytes, json.loads(done.stdout)["bytes_fewest"])
        return graph

    def test_memory_that_elements_share_counts_once(self) -> None:
        y = 64 * 196 * 2
        for strides, elements in (([196, 1], 64 * 196), ([0, 1], 196), ([0, 1000], 196),
                                  ([400, 1], 64 * 196), ([2, 1], 63 * 2 + 196)):
            with self.subTest(strides):
                graph = self.graph_of_kilns_bytes(tensor(1, "FLOAT", [64, 196], strides))
                self.assertEqual(graph.fewest_bytes, elements * 4 + y)

    def test_a_tensor_that_no_node_uses_is_no_input(self) -> None:
        for dtype in ("FLOAT", "INT32"):
            with self.subTest(dtype):
                unused = tensor(99, dtype, [1 << 20])
                graph = self.graph_of_kilns_bytes(tensor(1, "FLOAT", [64, 196]), unused)
                self.assertEqual([x.uid for x in graph.inputs], [1])


class NormTest(unittest.TestCase):
    def graph_of_norms(self, nodes: list[dict[str, object]]) -> Graph:
        return make_graph([
            tensor(1, "HALF", [8, 4], name="x"), tensor(2, "FLOAT", [8, 4], name="z"),
            tensor(3, "FLOAT", [1, 4], name="s"), tensor(4, "HALF", [1, 4], virtual=True),
            tensor(5, "FLOAT", [1], value={"value": 0.5}), tensor(6, "FLOAT", [8, 4], name="u"),
            tensor(7, "FLOAT", [8, 4], name="v"), tensor(8, "HALF", [1, 4], name="b")], nodes)

    def rmsnorm(self, x: int, y: int, **more: object) -> dict[str, object]:
        return node("RMSNorm", {"x_tensor_uid": x, "scale_tensor_uid": 3, "epsilon_tensor_uid": 5,
                                "y_tensor_uid": y} | more)

    def test_a_parameter_prepared_in_two_ways_is_two_arguments(self) -> None:
        nodes = [self.rmsnorm(1, 6), self.rmsnorm(2, 7)]
        for ordered in (nodes, nodes[::-1], nodes + nodes):
            translation = translate(self.graph_of_norms(ordered))
            prepared = {argument.name: argument for argument in translation.arguments}
            self.assertEqual(len(prepared), 4)
            for x, cast in (("t1_x", ".to(torch.float16)"), ("t2_z", "")):
                call_of_x = re.search(rf"F\.rms_norm\({x}, \(4,\), (\w+), 0\.5\)",
                                      translation.source)
                assert call_of_x
                scale = prepared[call_of_x[1]]
                self.assertEqual((scale.uid, scale.prepare), (3, "{}.reshape((4,))" + cast))

    def test_a_conversion_is_of_the_whole_result(self) -> None:
        relu = node("Pointwise", {"operation": "RELU_FWD", "in_0_tensor_uid": 8,
                                  "out_0_tensor_uid": 4})
        graph = self.graph_of_norms([relu, self.rmsnorm(1, 6, bias_tensor_uid=4)])
        total = "F.rms_norm(t1_x, (4,), t3_s_parameter, 0.5) + t4.reshape((4,))"
        self.assertIn(f"t6_u = ({total}).to(torch.float32)", translate(graph).source)

    def test_a_parameter_that_is_a_constant_is_not_translated(self) -> None:
        graph = self.graph_of_norms([self.rmsnorm(1, 6, bias_tensor_uid=5)])
        with self.assertRaisesRegex(NotTranslated, "bias is a constant"):
            translate(graph)


class UntranslatedTest(unittest.TestCase):
    def test_a_node_without_translation_is_named(self) -> None:
        with self.assertRaisesRegex(NotTranslated, "MatmulAttributes"):
            make_graph([], [node("Matmul", {})])

    def test_a_mode_without_translation_is_named(self) -> None:
        tensors = [tensor(uid, "FLOAT", [4]) for uid in (1, 2)]
        for mode, beta in (("GEN_INDEX", 1), ("SWISH_FWD", 2)):
            pointwise = node("Pointwise", {"operation": mode, "in_0_tensor_uid": 1,
                                           "out_0_tensor_uid": 2, "swish_beta": beta})
            with self.assertRaisesRegex(NotTranslated, mode):
                translate(make_graph(tensors, [pointwise]))


class ReportTest(unittest.TestCase):
    def results(self) -> list[CaseResult]:
        def steady(seconds: float) -> Time:
            return Time(seconds, seconds, seconds, 30)

        measured = CaseResult("softmax_fp16", bytes_fewest=4_000_000_000, kiln=steady(1e-3),
                              eager=steady(4e-3), compiled=steady(2e-3), kiln_copy=steady(9e-4),
                              kiln_copy_bytes=3_600_000_000, torch_copy=steady(1e-3),
                              torch_copy_bytes=5_000_000_000,
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
        self.assertEqual((cells["copy"], cells["torch copy"]), ("4000", "5000"))
        self.assertEqual(cells["of copy"], "100%")
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
        time = {"median_us": 2e6, "low_us": 1e6, "high_us": 3e6, "samples": 5}
        result = CaseResult("x")
        compare_with_pytorch.take_kiln_results(result, {
            "bytes_fewest": 8, "fused": {"time": time, "compile_cold_us": None}, "unfused": None,
            "copy": {"time": time, "bytes_moved": 16}})
        self.assertEqual((result.rate(result.kiln), result.kiln_copy_rate), (4, 8))
        self.assertEqual((result.unfused, result.share_of_copy), (None, 0.5))


class ProgramTest(unittest.TestCase):
    def test_all_files_are_python(self) -> None:
        for path in SOURCES.glob("*.py"):
            compile(path.read_text(encoding="utf-8"), str(path), "exec")

    def run_program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Nothing is found that is installed: as a Python without PyTorch.
        program = [sys.executable, "-B", "-S", str(SOURCES / "compare_with_pytorch.py")]
        return subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)

    def test_numbers_that_are_not_positive_are_refused(self) -> None:
        for option in ("--elements", "--samples"):
            for number in ("0", "-1"):
                done = self.run_program("--kiln", sys.executable, option, number)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"{option} is 1 at least", done.stderr)

    def test_what_is_missing_is_one_sentence(self) -> None:
        for arguments, words in ((["--kiln", "/nowhere"], "program '/nowhere' was not found"),
                                 (["--kiln", sys.executable], "has no PyTorch")):
            done = self.run_program(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
