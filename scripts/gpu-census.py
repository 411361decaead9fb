#!/usr/bin/env python3
"""What the compiler made of the GPU's kernels: scripts/gpu-census.py NVCC [--write]. Needs no GPU.

Compiles tensor/cuda/kernels.cu as the build does, has ptxas translate it for sm_90, disassembles that, and compares the
result with tensor/cuda/census.txt; --write replaces the table. A row is a kernel: its registers, the bytes that it spills
to memory, its shared memory, and for every place in the source that reads the GPU's memory in a loop how many of the
loop's loads are under way at most before one of them is waited for. A loop with one load under way runs at the pace of
the memory's latency instead of its rate. Where the compiler made several loops of one place in the source (unrolled and
what is left over, by 16 bytes and number by number), the best of them is counted.

nvdisasm is taken from beside nvcc, from PATH, or from PyPI.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tensor/cuda"
TABLE = SOURCES / "census.txt"
ARCHITECTURE = "sm_90"
NVDISASM = "nvidia-cuda-nvdisasm==13.5.37"
FRAME = re.compile(r'//## File "([^"]+)", line (\d+)')
BRANCH = re.compile(r"\b(BRA|BRX|JMP)\b.*`\((\.L_x_\d+)\)")
REGISTER = re.compile(r"\bR(\d+)")
WIDTHS = {"128": 4, "64": 2}


def digest(folder):
    """FNV-1a over the sources without comments and blank lines: says whether a table is of these sources."""
    value = 0xCBF29CE484222325
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".cu", ".cuh")):
        for line in path.read_text().splitlines():
            code = line.split("//")[0].strip()
            for byte in (code + "\n").encode() if code else b"":
                value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def nvdisasm(nvcc):
    """The path of nvdisasm; None where there is none and PyPI is out of reach."""
    beside = Path(nvcc).resolve().parent / "nvdisasm"
    found = str(beside) if beside.is_file() else shutil.which("nvdisasm")
    if found:
        return found
    folder = ROOT / "target/nvdisasm"
    binary = folder / "nvidia/cu13/bin/nvdisasm"
    if not binary.is_file():
        print("no nvdisasm beside nvcc or in PATH: fetching the one from PyPI, 4 MB", file=sys.stderr)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--only-binary", ":all:", "--target", str(folder), NVDISASM], stderr=subprocess.DEVNULL)
    return str(binary) if binary.is_file() else None


class Instruction:
    """A line of SASS with the places of the source that it is from, the innermost first."""

    def __init__(self, text, places):
        self.text, self.places = text, places
        branch = BRANCH.search(text)
        self.target = branch[2] if branch else None
        predicated = text.startswith("@")
        words = text.split()[1:] if predicated else text.split()
        self.name = words[0]
        self.ends = not predicated and re.match(r"(BRA|EXIT|RET|BRX|JMP|KILL)\b", self.name) is not None
        # A branch under a predicate of its own may go on: "BRA P1, target".
        if self.target and len(words) > 1 and words[1].startswith(("P", "!P", "UP", "!UP")):
            self.ends = False
        self.registers = {int(number) for number in REGISTER.findall(text)}
        self.loads = set()
        if self.name.startswith("LDG"):
            first = int(REGISTER.search(text)[1])
            width = next((WIDTHS[part] for part in self.name.split(".") if part in WIDTHS), 1)
            self.loads = set(range(first, first + width))


def kernels(text):
    """The kernels of a disassembly: name, and blocks of instructions by label, in order."""
    parts = re.split(r"^\.text\.(\w+):$", text, flags=re.MULTILINE)
    for name, body in zip(parts[1::2], parts[2::2]):
        blocks, label, fresh, places = {"start": []}, "start", True, ()
        for line in body.splitlines():
            if frame := FRAME.search(line):
                places = ((*places, frame.groups()) if not fresh else (frame.groups(),))
                fresh = False
            elif re.match(r"\.L_x_\d+:$", line):
                label = line[:-1]
                blocks[label] = []
            elif found := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;", line):
                fresh = True
                blocks[label].append(Instruction(found[1], places))
                if blocks[label][-1].target:
                    label = f"after {len(blocks)}"
                    blocks[label] = []
            elif line.startswith("\t.section"):
                break
        yield name, blocks


def successors(blocks):
    names = list(blocks)
    after = dict(zip(names, names[1:]))
    to = {}
    for name, block in blocks.items():
        targets = [instruction.target for instruction in block if instruction.target]
        if not (block and block[-1].ends) and name in after:
            targets.append(after[name])
        to[name] = [target for target in targets if target in blocks]
    return to


def loops(blocks):
    """Natural loops, as sets of blocks, by the block that they begin with."""
    to = successors(blocks)
    names = list(blocks)
    place = {name: 1 << index for index, name in enumerate(names)}
    of = {name: [] for name in names}
    for name in names:
        for target in to[name]:
            of[target].append(name)
    everything = (1 << len(names)) - 1
    dominators = {name: everything for name in names}
    dominators["start"] = place["start"]
    changed = True
    while changed:
        changed = False
        for name in names[1:]:
            common = everything
            for before in of[name]:
                common &= dominators[before]
            common |= place[name]
            changed |= common != dominators[name]
            dominators[name] = common
    found = {}
    for name in names:
        for head in to[name]:
            if dominators[name] & place[head]:
                body, waiting = found.setdefault(head, {head}), [name]
                while waiting:
                    block = waiting.pop()
                    if block not in body:
                        body.add(block)
                        waiting.extend(of[block])
    return found


def under_way(instructions):
    """The most loads that are under way at once when the instructions are repeated."""
    pending, most = [], 0
    for instruction in instructions * 2:
        for place in reversed(range(len(pending))):
            if pending[place] & instruction.registers:
                # Loads come in the order in which they were asked for.
                del pending[: place + 1]
                break
        if instruction.loads:
            pending.append(instruction.loads)
            most = max(most, len(pending))
    return most


def loads_of(blocks):
    """The most loads under way for every place in the source that reads in a loop, in the order of the source."""
    found = loops(blocks)
    best = {}
    for head, body in found.items():
        inner = [other for start, other in found.items() if start != head and other < body]
        own = [name for name in blocks if name in body and not any(name in other for other in inner)]
        instructions = [instruction for name in own for instruction in blocks[name]]
        reading = {instruction.places for instruction in instructions if instruction.loads}
        most = under_way(instructions) if reading else 0
        for places in reading:
            best[places] = max(best.get(places, 0), most)
    # The helpers that load are inlined: what calls them is the place.
    shown = {}
    for places, most in best.items():
        own = [(Path(file).name, int(line)) for file, line in places]
        at = next((at for at in own if at[0] not in ("vectors.cuh", "common.cuh") and at[0].endswith(".cuh")), own[0])
        shown[at] = max(shown.get(at, 0), most)
    return dict(sorted(shown.items()))


def resources(text):
    """Registers, spilled bytes and shared bytes of each kernel, from what ptxas -v says."""
    found = {}
    for part in text.split("Compiling entry function '")[1:]:
        number = lambda pattern: sum(int(number) for number in re.findall(pattern, part))
        spilled = number(r"(\d+) bytes stack frame") + number(r"(\d+) bytes spill")
        found[part.split("'")[0]] = (number(r"Used (\d+) registers"), spilled, number(r"(\d+) bytes smem"))
    return found


def census(nvcc, disassembler):
    """The table, and a line for each place with a single load under way."""
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = f"{folder}/kernels.ptx", f"{folder}/kernels.cubin"
        flags = ["--ptx", "-O3", "-std=c++17", "--generate-line-info", "-arch", "compute_80"]
        subprocess.run([nvcc, *flags, "-o", ptx, str(SOURCES / "kernels.cu")], check=True)
        ptxas = [str(Path(nvcc).parent / "ptxas"), "-arch", ARCHITECTURE, "-v", "--generate-line-info"]
        said = subprocess.run([*ptxas, ptx, "-o", cubin], check=True, capture_output=True, text=True).stderr
        disassembly = subprocess.run([disassembler, "-gi", "-c", cubin], check=True, capture_output=True, text=True)
    version = re.search(r"release (\S+),", subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout)[1]
    rows, single = [], []
    used = resources(said)
    for name, blocks in sorted(kernels(disassembly.stdout)):
        loads = loads_of(blocks)
        single += [f"{name}: {file}:{line}" for (file, line), most in loads.items() if most == 1]
        rows.append((name, *map(str, used[name]), " ".join(map(str, loads.values())) or "-"))
    head = [
        "# The kernels for sm_90; scripts/gpu-census.py writes this table and says what it means.",
        f"# compiler {version}, sources {digest(SOURCES)}",
    ]
    columns = [("kernel", "registers", "spilled", "shared", "loads under way in each loop"), *rows]
    return "\n".join([*head, *(" | ".join(row) for row in columns)]) + "\n", single


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    named = [argument for argument in arguments if argument != "--write"]
    if len(named) != 1:
        sys.exit("usage: scripts/gpu-census.py NVCC [--write]")
    disassembler = nvdisasm(named[0])
    if disassembler is None:
        print(f"no nvdisasm, and none from PyPI: {TABLE.relative_to(ROOT)} is not compared")
        return
    table, single = census(named[0], disassembler)
    for line in single:
        print(f"one load under way in {line}")
    kept = TABLE.read_text() if TABLE.exists() else ""
    if write:
        TABLE.write_text(table)
        return
    compiler = lambda text: next((line.split(",")[0] for line in text.splitlines() if "compiler" in line), "")
    if kept == table:
        print(f"{TABLE.relative_to(ROOT)}: as compiled")
    elif compiler(kept) != compiler(table):
        print(f"{TABLE.relative_to(ROOT)}: of another compiler, not compared")
    else:
        differing = sorted(set(table.splitlines()) ^ set(kept.splitlines()))
        print("\n".join(differing), file=sys.stderr)
        sys.exit(f"error: {TABLE.relative_to(ROOT)} is not what was compiled; look at the differences, then give --write")


if __name__ == "__main__":
    main()
