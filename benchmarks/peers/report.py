"""Results as a table for the terminal, Markdown, and JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from measurement import CaseResult, Time


def _number(value: float | None, form: str, scale: float = 1) -> str:
    return "-" if value is None else f"{value * scale:{form}}"


def _rate(pick: Callable[[CaseResult], float | None]) -> Callable[[CaseResult], str]:
    return lambda result: _number(pick(result), ".0f", 1e-9)


def _ratio(pick: Callable[[CaseResult], Time | None]) -> Callable[[CaseResult], str]:
    def show(result: CaseResult) -> str:
        ratio, noise = result.faster_than(pick(result)), result.noise_with(pick(result))
        return "-" if ratio is None or noise is None else f"{ratio:.2f} ±{ratio * noise:.2f}"

    return show


def _agreement(result: CaseResult) -> str:
    if result.errors is None:
        return "-"
    return "differs: " + ", ".join(result.disagreements) if result.disagreements else "agrees"


COLUMNS: list[tuple[str, Callable[[CaseResult], str]]] = [
    ("case", lambda r: r.name),
    ("Kiln GB/s", _rate(lambda r: r.rate(r.kiln))),
    ("unfused", _rate(lambda r: r.rate(r.unfused))),
    ("eager", _rate(lambda r: r.rate(r.eager))),
    ("compile", _rate(lambda r: r.rate(r.compiled))),
    ("copy", _rate(lambda r: r.kiln_copy_rate)),
    ("torch copy", _rate(lambda r: r.torch_copy_rate)),
    ("of copy", lambda r: _number(r.share_of_copy, ".0%")),
    ("Kiln/compile", _ratio(lambda r: r.compiled)),
    ("Kiln/eager", _ratio(lambda r: r.eager)),
    ("Kiln compiles, ms", lambda r: _number(r.kiln_compile_s, ".0f", 1e3)),
    ("torch, ms", lambda r: _number(r.torch_compile_s, ".0f", 1e3)),
    ("ratio", lambda r: _number(r.compile_ratio, ".1f")),
    ("results", _agreement),
]


def _cells(results: list[CaseResult]) -> list[list[str]]:
    measured = [result for result in results if result.failure is None]
    return [[heading for heading, _ in COLUMNS],
            *([show(result) for _, show in COLUMNS] for result in measured)]


def conclusions(results: list[CaseResult]) -> list[str]:
    """Geometric means, and what was not measured."""
    lines = []
    figures: list[tuple[str, Callable[[CaseResult], float | None]]] = [
        ("rate of Kiln over torch.compile's", lambda r: r.faster_than(r.compiled)),
        ("rate of Kiln over eager PyTorch's", lambda r: r.faster_than(r.eager)),
        ("compile time of torch.compile over Kiln's", lambda r: r.compile_ratio),
    ]
    for text, pick in figures:
        ratios = [ratio for r in results if r.failure is None and (ratio := pick(r)) is not None]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append(f"{text}: {mean:.2f} (geometric mean of {len(ratios)} cases, "
                         f"{min(ratios):.2f} to {max(ratios):.2f})")
    return lines + [f"{r.name}: {r.failure}" for r in results if r.failure is not None]


def to_text(results: list[CaseResult]) -> str:
    cells = _cells(results)
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["  ".join([row[0].ljust(widths[0]),
                        *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()
             for row in cells]
    return "\n".join(lines + [""] + conclusions(results)) + "\n"


def to_markdown(environment: dict[str, str], results: list[CaseResult]) -> str:
    rows = ["| " + " | ".join(row) + " |" for row in _cells(results)]
    rule = "| --- |" + " ---: |" * (len(COLUMNS) - 2) + " --- |"
    about = ", ".join(f"{name} {value}" for name, value in environment.items())
    notes = [f"- {line}" for line in conclusions(results)]
    return "\n".join([about + ".", "", rows[0], rule, *rows[1:], "", *notes]) + "\n"


def to_json(environment: dict[str, str], results: list[CaseResult]) -> dict[str, Any]:
    def one(result: CaseResult) -> dict[str, Any]:
        # JSON has no NaN; that the results differ is in `disagreements`.
        errors = {name: error if math.isfinite(error) else None
                  for name, error in (result.errors or {}).items()}
        derived = {
            "errors": errors or None,
            "kiln_over_compiled": result.faster_than(result.compiled),
            "kiln_over_eager": result.faster_than(result.eager),
            "share_of_copy": result.share_of_copy,
            "compile_ratio": result.compile_ratio,
        }
        return dataclasses.asdict(result) | derived

    return {"environment": environment, "results": [one(result) for result in results]}
