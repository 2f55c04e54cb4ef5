"""Code objects: out of Kiln's cache, what their metadata say, and their instructions."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

ELF_MAGIC = b"\x7fELF\x02\x01\x01"
TIMEOUT_S = 120


class ToolFailed(Exception):
    """The tool's own words."""


def run_tool(arguments: list[str], text: str | None = None,
             environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(arguments, input=text, capture_output=True, text=True,
                              env={**os.environ, **(environment or {})}, timeout=TIMEOUT_S,
                              check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolFailed(f"{arguments[0]}: {error}") from None
    if done.returncode != 0:
        raise ToolFailed(f"{arguments[0]}: {' '.join(done.stderr.split())}")
    return done.stdout


def elf_images(data: bytes) -> list[bytes]:
    """All ELF files in the bytes: the sections' table stands last in what linkers write."""
    images, at = [], data.find(ELF_MAGIC)
    while at >= 0:
        sections, = struct.unpack_from("<Q", data, at + 0x28)
        size_each, count = struct.unpack_from("<HH", data, at + 0x3A)
        size = sections + size_each * count
        images.append(data[at:at + size])
        at = data.find(ELF_MAGIC, at + max(size, 1))
    return images


def images_of_cache(directory: Path) -> list[bytes]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return [image for path in files for image in elf_images(path.read_bytes())]


@dataclass(frozen=True)
class Instruction:
    address: int
    mnemonic: str
    operands: str
    target: int | None  # of a branch

    @property
    def text(self) -> str:
        return f"{self.mnemonic} {self.operands}".strip()


@dataclass(frozen=True)
class CodeObject:
    path: Path
    symbol: str
    target: str  # processor
    wave: int
    vgprs: int  # of gfx90a and later with the AGPRs
    sgprs: int
    spills: int  # of both kinds
    scratch_bytes: int
    lds_bytes: int
    work_items: int
    instructions: list[Instruction]

    @property
    def waves_per_simd(self) -> int:
        """As registers and LDS allow: LLVM's rules."""
        by_registers = _waves_by_registers(self.target, self.vgprs)
        groups = 64 * 1024 // self.lds_bytes if self.lds_bytes else 32
        if self.target.startswith("gfx95"):
            groups = 160 * 1024 // self.lds_bytes if self.lds_bytes else 32
        simds, units = (4, 1) if self.wave == 64 else (4, 2)  # RDNA: a WGP, two halves of LDS
        waves_of_group = (self.work_items + self.wave - 1) // self.wave
        return min(by_registers, groups * units * waves_of_group // simds)


def _waves_by_registers(target: str, vgprs: int) -> int:
    if target in ("gfx90a", "gfx940", "gfx942", "gfx950"):
        total, step, most = 512, 8, 8
    elif target.startswith("gfx9"):
        total, step, most = 256, 4, 10
    elif target in ("gfx1100", "gfx1101", "gfx1151") or target.startswith("gfx12"):
        total, step, most = 1536, 24, 16
    else:
        total, step, most = 1024, 16, 16
    allocated = max((vgprs + step - 1) // step, 1) * step
    return min(total // allocated, most)


def _number(notes: str, name: str) -> int:
    found = re.search(rf"^\s*(?:- )?\.{name}:\s+(\d+)", notes, re.MULTILINE)
    return int(found.group(1)) if found else 0


def _instructions(listing: str) -> list[Instruction]:
    """Lines like "\ts_cbranch_scc1 500  // 0000000019E4: BF8501F4 <kernel+0xbb8>"."""
    found = []
    start = 0
    for line in listing.splitlines():
        label = re.match(r"^([0-9a-f]{16}) <", line)
        if label:
            start = start or int(label.group(1), 16)
            continue
        match = re.match(r"^\t(\S+)\s*(.*?)\s*// ([0-9A-F]{12}): [0-9A-F ]+(?:<[^>]*?(?:\+0x([0-9a-f]+))?>)?$",
                         line)
        if match:
            mnemonic, operands, address, offset = match.groups()
            is_branch = mnemonic.startswith(("s_branch", "s_cbranch"))
            target = start + int(offset or "0", 16) if is_branch else None
            found.append(Instruction(int(address, 16), mnemonic, operands, target))
    return found


def read_code_object(path: Path, llvm: str) -> CodeObject:
    notes = run_tool([f"llvm-readelf{llvm}", "--notes", str(path)])
    names = re.findall(r"^\s*(?:- )?\.symbol:\s+'?(\S+?)\.kd'?$", notes, re.MULTILINE)
    target = re.search(r"amdhsa\.target:\s+\S*(gfx[0-9a-f]+)", notes)
    if not names or not target:
        raise ToolFailed(f"'{path}' names no kernel or no target")
    listing = run_tool([f"llvm-objdump{llvm}", "-d", f"--disassemble-symbols={names[0]}", str(path)])
    return CodeObject(
        path=path, symbol=names[0], target=target.group(1), wave=_number(notes, "wavefront_size"),
        vgprs=_number(notes, "vgpr_count"), sgprs=_number(notes, "sgpr_count"),
        spills=_number(notes, "vgpr_spill_count") + _number(notes, "sgpr_spill_count"),
        scratch_bytes=_number(notes, "private_segment_fixed_size"),
        lds_bytes=_number(notes, "group_segment_fixed_size"),
        work_items=_number(notes, "max_flat_workgroup_size"),
        instructions=_instructions(listing))
