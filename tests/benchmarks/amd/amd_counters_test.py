"""benchmarks/amd without an emulator. KILN names the program whose suite is scheduled."""

from __future__ import annotations

import copy
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import count_kernels
from emulated_launch import counters_of, prediction_of
from goals import missed_goals
from kiln_graphs import Kiln
from rows import CountedKernel, PredictedGraph, counter_cells, prediction_cells, table

NO_ACCESS = {"bytes": 0, "segments64": 0, "minimum64": 0, "segments128": 0, "minimum128": 0}
LINE: dict[str, Any] = {
    "kernel": "k", "target": "gfx942", "wave": 64, "grid": [4, 1, 1], "block": [256, 1, 1],
    "occupancy": {"vgprs": 40, "unit": "CU", "waves_per_unit": 32, "waves_per_simd": 8,
                  "limit": "waves"},
    "instructions": {"valu": 100, "valu_packed": 20, "dot": 0, "trans": 10, "lds_read": 3,
                     "lds_write": 2, "lds_atomic": 0},
    "valu_detail": {"mul32": 4, "f64": 2},
    "global": {"load": {"bytes": 2048, "segments64": 34, "minimum64": 32, "segments128": 17,
                        "minimum128": 16},
               "store": {"bytes": 2048, "segments64": 32, "minimum64": 32, "segments128": 16,
                         "minimum128": 16},
               "atomic": NO_ACCESS},
    "lds": {"conflict_cycles": 0},
    "in_flight": {"waits": 2, "bytes_at_waits": 2048},
}


def counted(line: dict[str, Any], **more: Any) -> CountedKernel:
    row: dict[str, Any] = {"graph": "g", "index": 0, "template": "pointwise", "elements": 1 << 19,
                           "is_full_schedule": True, "bytes_moved": 4096, "share_of_bytes": 1.0}
    return CountedKernel(**(row | more), counters=counters_of(line))


class CountersTest(unittest.TestCase):
    def test_cycles_of_cdna_and_rdna(self) -> None:
        issues = 100 + 20 + 3 * 4 + 4 * 10
        self.assertEqual(counters_of(LINE).valu_cycles, 4 * issues)
        line = LINE | {"target": "gfx1100", "wave": 32}
        self.assertEqual(counters_of(line).valu_cycles, issues + 15 * 2)

    def test_segments_are_those_of_all_accesses(self) -> None:
        self.assertAlmostEqual(counters_of(LINE).segments64, 66 / 64)
        self.assertAlmostEqual(counters_of(LINE).segments128, 33 / 32)

    def test_bytes_in_flight_are_those_of_a_compute_unit(self) -> None:
        self.assertEqual(counters_of(LINE).bytes_in_flight, 1024 * 32)
        line = copy.deepcopy(LINE)
        line["occupancy"]["unit"] = "WGP"
        self.assertEqual(counters_of(line).bytes_in_flight, 1024 * 16)

    def test_kernel_that_never_waits_has_nothing_in_flight(self) -> None:
        line = LINE | {"in_flight": {"waits": 0, "bytes_at_waits": 0}}
        self.assertEqual(counters_of(line).bytes_in_flight, 0)


class GoalsTest(unittest.TestCase):
    def test_what_is_missed_is_named(self) -> None:
        line = copy.deepcopy(LINE)
        line["lds"]["conflict_cycles"] = 7
        line["in_flight"]["bytes_at_waits"] = 1000
        line["global"]["load"]["segments64"] = 40
        line["instructions"]["valu"] = 500
        missed = " ".join(missed_goals(counted(line)))
        for part in ("fewest transactions", "7 LDS", "16.0 KB in flight", "VALU cycles"):
            self.assertIn(part, missed)

    def test_a_transpose_may_have_conflicts(self) -> None:
        line = LINE | {"lds": {"conflict_cycles": 7}}
        self.assertEqual(list(missed_goals(counted(line, template="pointwise_tiled"))), [])

    def test_a_kernel_of_few_bytes_has_no_goals(self) -> None:
        line = LINE | {"lds": {"conflict_cycles": 7}}
        self.assertEqual(list(missed_goals(counted(line, share_of_bytes=0.01))), [])


class TablesTest(unittest.TestCase):
    def test_another_schedule_has_a_star(self) -> None:
        self.assertIn("0.5 Mi *", counter_cells(counted(LINE, is_full_schedule=False)))
        self.assertIn("0.5 Mi", counter_cells(counted(LINE)))

    def test_shares_of_a_prediction_are_weighted_by_time(self) -> None:
        def prediction(us: float, wait: float) -> dict[str, Any]:
            return {"kernel": "k", "kernel_us": us, "busy": {"valu": 0.5},
                    "wave_time": {"vmcnt": wait, "issue": 1 - wait}}

        graph = PredictedGraph("g", [prediction_of(prediction(30, 1.0)),
                                     prediction_of(prediction(10, 0.2))], 80_000_000)
        self.assertEqual(prediction_cells(graph)[:6], ("g", "2", "40.0", "2.00", "50%", "80%"))

    def test_columns_line_up(self) -> None:
        lines = table(("a", "b"), [("long name", "1"), ("x", "1000")]).splitlines()
        self.assertEqual(len({len(line) for line in lines}), 1)


class SuiteTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.kiln = Kiln(os.environ["KILN"])
        cases = ["softmax_fp16", "batchnorm_training_fp16"]
        graphs = {}
        for elements in count_kernels.SIZES:
            path = Path(self.directory.name) / str(elements)
            path.mkdir()
            graphs[elements] = self.kiln.save_graphs(path, cases, elements)
        self.suite = count_kernels.Suite(self.kiln, Path("none"), Path(self.directory.name), graphs)

    def test_tensors_are_aligned_as_allocators_do(self) -> None:
        graph = json.loads(self.suite.graphs[1 << 19]["softmax_fp16"].read_text())
        self.assertEqual({tensor.get("alignment") for tensor in graph["tensors"]
                          if not tensor.get("virtual")}, {256})

    def test_chosen_size_has_the_schedule_of_the_full_size(self) -> None:
        full = count_kernels.FULL_ELEMENTS
        for name in self.suite.graphs[full]:
            chosen = count_kernels.choose_size(self.suite, name, "gfx942", full)
            schedules = [[kernel.schedule for kernel in self.kiln.explain(
                self.suite.graphs[size][name], "gfx942", compiled=False)]
                for size in (chosen, full)]
            self.assertEqual(*schedules)

    def test_no_size_above_the_limit_is_chosen(self) -> None:
        chosen = count_kernels.choose_size(self.suite, "batchnorm_training_fp16", "gfx942", 1 << 22)
        self.assertLessEqual(chosen, 1 << 22)


if __name__ == "__main__":
    unittest.main()
