"""Does the suite notice when a pure module is broken on purpose? `python -m tests.mutation compute/loadbalancers/rules.py`

Runs mutmut on one module with the tests that speak of it, in a copy of the tree, and prints how many mutants were killed. Exit
code 1 below the bar.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BASE = Path(__file__).resolve().parents[1]
BAR = 85.0
# The quick tests that speak of a pure module.
TESTS = {
    "compute/accounts/rules.py": ["tests/unit/accounts/test_rules.py"],
    "compute/loadbalancers/rules.py": ["tests/unit/loadbalancers/test_rules.py"],
    "compute/loadbalancers/plan.py": ["tests/unit/loadbalancers/test_plan.py", "tests/properties/test_plan.py"],
    "compute/projects/rules.py": ["tests/unit/projects/test_rules.py"],
    "compute/proxies/rules.py": ["tests/unit/proxies/test_rules.py"],
    "compute/sync/rules.py": ["tests/unit/sync/test_rules.py"],
    "core/engine/merge.py": ["tests/properties/test_merge.py"],
}


def main(path: str) -> int:
    """Mutate one module; returns the exit code."""
    tests = TESTS.get(path)
    if tests is None:
        print(f"No quick tests are named for {path}; known are {', '.join(TESTS)}.")
        return 2
    with tempfile.TemporaryDirectory(prefix="skydeck-mutation-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(
            BASE, copy, ignore=shutil.ignore_patterns(".venv", "var", ".git", "__pycache__", ".mypy_cache", "mutants")
        )
        (copy / "setup.cfg").write_text(
            "[mutmut]\n"
            f"paths_to_mutate={path}\n"
            f"tests_dir=\n    {chr(10).join('    ' + t for t in tests).strip()}\n"
            "also_copy=\n    config\n    core\n    identity\n    compute\n    tests\n    templates\n    static\n    pyproject.toml\n    manage.py\n"
        )
        done = subprocess.run(
            [str(Path(sys.executable).parent / "mutmut"), "run", "--max-children", "2"],
            cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        last = [line for line in re.split(r"[\r\n]", done.stdout) if "🎉" in line]
        if not last:
            print(done.stdout[-3000:])
            return 1
        counts = {name: int(n) for name, n in re.findall(r"(🎉|🫥|⏰|🤔|🙁|🔇)\s+(\d+)", last[-1])}
        killed = counts.get("🎉", 0) + counts.get("⏰", 0)
        total = sum(counts.values()) - counts.get("🔇", 0)
        share = 100 * killed / total if total else 0.0
        survivors = subprocess.run(
            [str(Path(sys.executable).parent / "mutmut"), "results"], cwd=copy, stdout=subprocess.PIPE, text=True
        ).stdout
        print(survivors[-4000:])
        print(f"{path}: {killed} of {total} mutants killed ({share:.1f} %; the bar is {BAR:.0f} %)")
        return 0 if share >= BAR else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
