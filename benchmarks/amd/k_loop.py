"""The K loop of a kernel: the outermost loop with matrix instructions, and what is in it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from code_objects import CodeObject, Instruction, ToolFailed, run_tool

MCA_ITERATIONS = 20
MATRIX = re.compile(r"v_(s?mfma|wmma|swmmac)")
# Instructions that only wait. llvm-mca gives a barrier a latency of 500 cycles, whoever arrives when.
WAITS = ("s_barrier", "s_waitcnt", "s_wait_", "s_nop", "s_delay_alu", "s_sleep", "s_setprio",
         "s_clause", "s_endpgm")
ACCESS_BYTES = {"b128": 16, "b96": 12, "b64": 8, "b32": 4, "u16": 2, "b16": 2, "i16": 2, "u8": 1,
                "i8": 1, "b8": 1, "dwordx4": 16, "dwordx3": 12, "dwordx2": 8, "dword": 4,
                "ushort": 2, "short": 2, "ubyte": 1, "byte": 1}


@dataclass(frozen=True)
class Block:
    instructions: list[Instruction]
    successors: list[int]  # addresses


def _blocks(code: list[Instruction]) -> dict[int, Block]:
    leaders = {code[0].address}
    for here, after in zip(code, code[1:]):
        if here.target is not None:
            leaders |= {here.target, after.address}
    blocks: dict[int, Block] = {}
    current: list[Instruction] = []
    for index, instruction in enumerate(code):
        current.append(instruction)
        after = code[index + 1].address if index + 1 < len(code) else None
        ends = instruction.target is not None or instruction.mnemonic == "s_endpgm"
        if not ends and after is not None and after not in leaders:
            continue
        successors = [instruction.target] if instruction.target is not None else []
        if after is not None and instruction.mnemonic not in ("s_branch", "s_endpgm"):
            successors.append(after)
        blocks[current[0].address] = Block(current, successors)
        current = []
    return blocks


def _loops(blocks: dict[int, Block]) -> list[set[int]]:
    """Natural loops: edges to a block that every path from the start passes. LLVM may lay a loop's head out behind its end."""
    before: dict[int, list[int]] = {address: [] for address in blocks}
    for address, block in blocks.items():
        for successor in block.successors:
            if successor in before:
                before[successor].append(address)
    start = min(blocks)
    passed = {address: set(blocks) for address in blocks}  # on every path from the start
    passed[start] = {start}
    changed = True
    while changed:
        changed = False
        for address in sorted(blocks):
            if address == start or not before[address]:
                continue
            found = set.intersection(*(passed[at] for at in before[address])) | {address}
            changed = changed or found != passed[address]
            passed[address] = found
    loops: dict[int, set[int]] = {}
    for address, block in blocks.items():
        for head in block.successors:
            if head not in blocks or head not in passed[address]:
                continue
            body, todo = {head}, [address]
            while todo:
                at = todo.pop()
                if at not in body:
                    body.add(at)
                    todo += before[at]
            loops[head] = loops.get(head, set()) | body
    return list(loops.values())


def is_matrix(instruction: Instruction) -> bool:
    return MATRIX.match(instruction.mnemonic) is not None


def find_k_loop(code: CodeObject) -> list[Instruction]:
    """In the order of the text, every block once: inner loops count as one turn."""
    blocks = _blocks(code.instructions)
    found: set[int] = set()
    for loop in _loops(blocks):
        inside = [i for address in loop for i in blocks[address].instructions]
        stores = any(i.mnemonic.startswith(("global_store", "buffer_store", "flat_store"))
                     for i in inside)
        if any(map(is_matrix, inside)) and not stores and len(loop) > len(found):
            found = loop
    if not found:
        raise ToolFailed(f"{code.symbol} for {code.target}: no loop with matrix instructions")
    return [i for address in sorted(found) for i in blocks[address].instructions]


def class_of(instruction: Instruction) -> str:
    name = instruction.mnemonic
    if is_matrix(instruction):
        return "matrix"
    if name.startswith("ds_"):
        return "LDS reads" if "read" in name or "load" in name else "LDS writes"
    if name.startswith(("global_", "buffer_", "flat_")):
        return "global"
    if name.startswith(("s_waitcnt", "s_wait_", "s_nop", "s_delay_alu", "s_setprio", "s_clause")):
        return "waits"
    if name.startswith("s_barrier"):
        return "barriers"
    if name.startswith(("s_branch", "s_cbranch")):
        return "branches"
    if name.startswith("v_"):
        return "VALU"
    return "SALU"


CLASSES = ("matrix", "VALU", "SALU", "LDS reads", "LDS writes", "global", "waits", "barriers",
           "branches")


def access_bytes(instruction: Instruction) -> int:
    """Of a lane; ds_read2 reads two of its size."""
    name = instruction.mnemonic.split("_tr_")[0]  # ds_read_b64_tr_b16 reads 8 bytes
    size = ACCESS_BYTES.get(name.split("_")[-1], 0)
    if size == 0:
        size = next((ACCESS_BYTES[part] for part in instruction.mnemonic.split("_")
                     if part in ACCESS_BYTES), 0)
    return size * (2 if re.match(r"ds_(read|load|write|store)_?2", instruction.mnemonic) else 1)


def _widths(instructions: list[Instruction]) -> str:
    """"16" or "16, 4 (8)": bytes that one lane reads at a place, with the number of those that are no 16."""
    counts: Counter[int] = Counter()
    for instruction in instructions:
        twice = re.match(r"ds_(read|load|write|store)_?2", instruction.mnemonic) is not None
        counts[access_bytes(instruction) // (2 if twice else 1)] += 1
    return ", ".join(f"{size}" if size == 16 else f"{size} ({count})"
                     for size, count in sorted(counts.items(), reverse=True)) or "-"


def matrix_kmacs(instruction: Instruction) -> float:
    """Thousands of multiply-adds of a matrix instruction: "v_mfma_f32_32x32x8_f16"."""
    m, n, k = map(int, re.search(r"(\d+)x(\d+)x(\d+)", instruction.mnemonic).groups())  # type: ignore[union-attr]
    return m * n * k / 1024


@dataclass(frozen=True)
class KLoop:
    matrix: str  # mnemonic
    classes: dict[str, int]
    global_widths: str
    lds_read_widths: str
    lds_write_widths: str
    lds_read_bytes_per_matrix: float  # of a wave
    lds_read_bytes_per_kmac: float
    kmacs: float  # of one wave in one iteration
    mca_matrix_cycles: float | None  # in units of llvm-mca
    mca_cycles: float | None

    @property
    def matrix_share(self) -> float | None:
        return None if not self.mca_cycles else (self.mca_matrix_cycles or 0) / self.mca_cycles


def _mca(code: CodeObject, loop: list[Instruction], llvm: str) -> tuple[float, float] | None:
    """Cycles of the matrix unit and of the whole iteration, by llvm-mca's model, which has no waits in it and no WMMA."""
    if code.wave != 64:
        return None
    lines = []
    for instruction in loop:
        if instruction.mnemonic.startswith(WAITS):
            continue
        # Branch targets are numbers that need no label.
        lines.append(f"{instruction.mnemonic} 0" if instruction.target is not None
                     else instruction.text)
    try:
        report = run_tool([f"llvm-mca{llvm}", "-mtriple=amdgcn", f"-mcpu={code.target}",
                           f"-iterations={MCA_ITERATIONS}", "-instruction-info=false"],
                          "\n".join(lines) + "\n")
    except ToolFailed:
        return None
    cycles = re.search(r"Total Cycles:\s+(\d+)", report)
    names = re.findall(r"^\[(\d+)\]\s+- (\w+)$", report, re.MULTILINE)
    pressure = re.search(r"Resource pressure per iteration:\n.*\n(.*)\n", report)
    if not cycles or not pressure:
        return None
    columns = pressure.group(1).split()
    unit = next((int(index) for index, name in names if name == "HWXDL"), None)
    if unit is None or columns[unit] == "-":
        return None
    return float(columns[unit]), int(cycles.group(1)) / MCA_ITERATIONS


def examine_k_loop(code: CodeObject, llvm: str) -> KLoop:
    return examine_loop(code, find_k_loop(code), llvm)


def examine_loop(code: CodeObject, loop: list[Instruction], llvm: str) -> KLoop:
    classes = Counter(map(class_of, loop))
    matrices = [i for i in loop if is_matrix(i)]
    reads = [i for i in loop if class_of(i) == "LDS reads"]
    writes = [i for i in loop if class_of(i) == "LDS writes"]
    loads = [i for i in loop if class_of(i) == "global" and "load" in i.mnemonic]
    read_bytes = sum(map(access_bytes, reads)) * code.wave
    kmacs = sum(map(matrix_kmacs, matrices))
    mca = _mca(code, loop, llvm)
    return KLoop(
        matrix=matrices[0].mnemonic, classes={name: classes[name] for name in CLASSES},
        global_widths=_widths(loads), lds_read_widths=_widths(reads),
        lds_write_widths=_widths(writes),
        lds_read_bytes_per_matrix=read_bytes / len(matrices),
        lds_read_bytes_per_kmac=read_bytes / kmacs, kmacs=kmacs,
        mca_matrix_cycles=mca[0] if mca else None, mca_cycles=mca[1] if mca else None)
