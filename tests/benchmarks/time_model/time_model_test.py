"""benchmarks/time_model without a GPU: which schedules are compared. KILN names the program."""

from __future__ import annotations

import argparse
import os
import tempfile
import unittest
from pathlib import Path

from time_model import Bench, geometric_mean, shapes
from matmul_graphs import Product


class PretendedBench(Bench):
    """Takes a microsecond for each letter of the options."""

    def time(self, graph: Path, forced: tuple[str, ...]) -> float:
        return 1.0 + len("".join(forced))


class TimeModel(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        options = argparse.Namespace(kiln=os.environ["KILN"], target="gfx942", alternatives=3)
        self.bench = PretendedBench(options, Path(directory.name))

    def test_a_seed_gives_the_same_shapes(self) -> None:
        self.assertEqual(list(shapes(7, 12)), list(shapes(7, 12)))
        self.assertNotEqual(list(shapes(7, 12)), list(shapes(8, 12)))

    def test_the_choice_comes_first_and_no_schedule_twice(self) -> None:
        timed = self.bench.schedules(Product("f16", "tn", 512, 1024, 1024))
        self.assertEqual(timed[0].options, ())
        self.assertEqual(timed[0].us, 1)
        self.assertEqual(len(timed), 4)
        self.assertEqual(len({item.what for item in timed}), 4)
        self.assertEqual(sorted(item.modelled for item in timed[1:]),
                         [item.modelled for item in timed[1:]])

    def test_a_schedule_that_is_not_possible_is_left_out(self) -> None:
        graph = Product("f16", "tn", 512, 1024, 1024).save(self.bench.directory)
        self.assertIsNone(self.bench.explain(graph, ("--tile", "3x5")))

    def test_geometric_mean(self) -> None:
        self.assertAlmostEqual(geometric_mean([1, 4]), 2)


if __name__ == "__main__":
    unittest.main()
