"""What a wave executes in one iteration of a loop with matrix instructions, from the emulator's trace.

A loop of attention has blocks that only some iterations execute, at the edge of a mask or when a maximum has grown much: counted
with the others they say little of the time. Trace lines are "[emu] wg(0,0,0) w1 +0x834 v_xor_b32_e32 exec=0xffff".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from code_objects import CodeObject, Instruction
from k_loop import is_matrix

LINE = re.compile(r"^\[emu\] wg\((\d+),(\d+),(\d+)\) w0 \+0x([0-9a-f]+) ")
END = re.compile(r"^\[emu\] (\S+) grid ")


def executed_offsets(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, list[int]]]]:
    """Of each launch: the kernel, and the offsets that the first wave of each work-group executed."""
    groups: dict[str, list[int]] = {}
    for line in lines:
        found = LINE.match(line)
        if found:
            groups.setdefault(",".join(found.groups()[:3]), []).append(int(found.group(4), 16))
            continue
        end = END.match(line)
        if end:
            yield end.group(1), groups
            groups = {}


def executed_iterations(code: CodeObject, groups: dict[str, list[int]]) -> list[list[Instruction]]:
    """One iteration of each loop with matrix instructions, of the work-group that has executed most; of iterations that differ the
    most frequent one."""
    start = code.instructions[0].address
    at = {instruction.address - start: instruction for instruction in code.instructions}
    trace = [at[offset] for offset in max(groups.values(), key=len)]
    counts = Counter(i.address for i in trace if is_matrix(i))
    loops: list[list[Instruction]] = []
    seen: set[int] = set()
    for head in [i.address for i in trace if is_matrix(i)]:
        if head in seen or counts[head] < 3:
            continue
        places = [index for index, i in enumerate(trace) if i.address == head]
        turns = Counter(tuple(i.address for i in trace[a:b])
                        for a, b in zip(places, places[1:]))
        usual = turns.most_common(1)[0][0]
        seen |= {address for turn in turns for address in turn}
        loops.append([at[address - start] for address in usual])
    return loops
