"""Plant faults in the product one at a time, and see whether a fast test finds each.

    python -m tests.mutants               all of them
    python -m tests.mutants lease retry   those with one of these words in name or file

Each is planted in a copy of the tree, and all tests but the end-to-end ones that cover its place
are played until one fails. Prints what was found, by which test, and what survived. The exit code
is 1 if over a tenth survived, if a fault no longer applies, or if tests fail without any fault.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.folders import make_folder
from tests.mutants.faults import Area, Fault, GoneError, load_areas, planted

ROOT = Path(__file__).parents[2]
COPIES = 2
GOAL = 0.9
HANGS_S = 600.0
OPTIONS = ("-x", "--timeout=60", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-rfE")


def copied() -> Path:
    """Copy what is needed to run tests, to a folder of its own."""
    folder = make_folder("matins-mutants-")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("src", "tests", "docs", "examples"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis")
        )
    return folder


def play(folder: Path, tests: Iterable[str]) -> str:
    """Play tests until one fails; return which one, or nothing."""
    command = (sys.executable, "-m", "pytest", *OPTIONS, *tests)
    environment = os.environ | {
        "PYTHONPATH": f"{folder / 'src'}:{folder}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nothing came to an end within {HANGS_S:g} s"
    if done.returncode == 0:
        return ""
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return told[0].split(" ", 1)[1].split(" - ")[0] if told else done.stdout[-500:] + done.stderr


def judge(folder: Path, area: Area, fault: Fault) -> tuple[str, str]:
    """Plant a fault, play its tests, and mend it again; return what became of it, and by what."""
    path = folder / "src" / "matins" / fault.file
    try:
        whole = path.read_text("utf-8")
        path.write_text(planted(fault, whole), "utf-8")
    except (GoneError, FileNotFoundError) as error:
        return "gone", str(error)
    try:
        found_by = play(folder, area.tests_of(fault))
    finally:
        path.write_text(whole, "utf-8")
    return ("found", found_by) if found_by else ("survived", "")


def main() -> int:
    """Return the exit code."""
    words = sys.argv[1:]
    chosen = [
        (area, fault)
        for area in load_areas()
        for fault in area.fault
        if not words or any(word in f"{fault.file} {fault.name}" for word in words)
    ]
    folders = [copied() for _ in range(COPIES)]
    free: SimpleQueue[Path] = SimpleQueue()
    for folder in folders:
        free.put(folder)

    def in_turn(work: tuple[Area, Fault]) -> tuple[str, str]:
        folder = free.get()
        try:
            return judge(folder, *work)
        finally:
            free.put(folder)

    try:
        whole = dict.fromkeys(test for area, fault in chosen for test in area.tests_of(fault))
        if failed := play(folders[0], whole):
            print(f"without any fault this fails: {failed}")
            return 1
        counts: Counter[str] = Counter()
        with ThreadPoolExecutor(COPIES) as pool:
            for (_, fault), (fate, why) in zip(chosen, pool.map(in_turn, chosen), strict=True):
                counts[fate] += 1
                print(f"{fate:9} {fault.file}: {fault.name}", f"({why})" * bool(why), flush=True)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    share = counts["found"] / (counts["found"] + counts["survived"] or 1)
    print(f"{counts['found']} found, {counts['survived']} survived: {share:.0%}")
    if counts["gone"]:
        print(f"{counts['gone']} no longer apply: edit them in tests/mutants/faults")
    return 0 if share >= GOAL and not counts["gone"] else 1


if __name__ == "__main__":
    sys.exit(main())
