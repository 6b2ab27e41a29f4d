"""Rules of the house that no linter of ours checks: what modules say of themselves, what faces may not do, what is not used."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("core", "identity", "compute", "config")
# The largest module that a person still holds in the head; tests may be lists of cases and somewhat longer.
MOST_LINES, MOST_LINES_OF_TESTS = 650, 800
# Faces show and call; rows are written by services and jobs.
FACES = ("views.py", "serializers.py", "filters.py", "guards.py", "actions.py", "admin.py")
FACE_FOLDERS = ("console", "api", "admin")
PURE = ("rules.py", "plan.py", "status.py", "choices.py")
WRITES = {
    "save",
    "create",
    "delete",
    "bulk_create",
    "bulk_update",
    "get_or_create",
    "update_or_create",
    "select_for_update",
}


def files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts and "lab" not in path.parts and path.stat().st_size:
                yield path


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def found(paths: Iterator[Path], look: Callable[[ast.AST], str]) -> list[str]:
    """`path:line what` for every node that the look objects to."""
    return [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} {said}"
        for path in paths
        for node in ast.walk(tree(path))
        if (said := look(node))
    ]


def is_face(path: Path) -> bool:
    return path.name in FACES or bool(set(FACE_FOLDERS) & set(path.relative_to(ROOT).parts[:-1]))


def test_every_module_says_what_it_is_for() -> None:
    silent = [path.relative_to(ROOT) for path in files(*PRODUCT, "tests") if not ast.get_docstring(tree(path))]
    assert silent == []


def test_no_module_is_too_large() -> None:
    for folders, most in ((PRODUCT, MOST_LINES), (("tests",), MOST_LINES_OF_TESTS)):
        sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files(*folders)}
        assert {name: size for name, size in sizes.items() if size > most} == {}


def test_no_signals() -> None:
    """What happens after a write is called by the service that writes. Celery's own start-up hooks are its only way in."""

    def look(node: ast.AST) -> str:
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = {f"{getattr(node, 'module', '')}.{a.name}" for a in node.names}
            return next(
                (n for n in names if re.search(r"django\.(dispatch|db\.models\.signals|core\.signals)|\.receiver$", n)),
                "",
            )
        is_hook = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "connect"
        connections = ("sqlite3.connect", "super().connect")
        return "connect" if is_hook and ast.unparse(node.func) not in connections else ""  # type: ignore[attr-defined]

    assert found((p for p in files(*PRODUCT) if p != ROOT / "config/celery.py"), look) == []


def test_no_star_imports() -> None:
    def look(node: ast.AST) -> str:
        return "*" if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names) else ""

    settings = ROOT / "config/settings"
    assert found((p for p in files(*PRODUCT, "tests") if settings not in p.parents), look) == []


def test_no_imports_inside_functions() -> None:
    """A circle of imports is a fault of the layers. Apps may import when they are ready, since models are not before."""

    def look(node: ast.AST) -> str:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return ""
        inner = [one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom)]
        return f"{node.name}: {ast.unparse(inner[0])}" if inner else ""

    assert found((p for p in files(*PRODUCT) if p.name != "apps.py"), look) == []


def test_faces_write_no_rows() -> None:
    """Views, serializers, filters, guards, admin and console call services; so do actions, which only name them."""

    def look(node: ast.AST) -> str:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return ""
        receiver = ast.unparse(node.func.value)
        on_rows = node.func.attr == "update" and re.search(r"objects|_manager|\bfilter\(|queryset|\brows\b", receiver)
        return ast.unparse(node)[:90] if node.func.attr in WRITES or on_rows else ""

    assert found((p for p in files(*PRODUCT) if is_face(p)), look) == []


@pytest.mark.parametrize("name", PURE)
def test_what_is_pure_knows_no_rows_and_no_requests(name: str) -> None:
    """Rules, plans and statuses are plain functions of plain values: no models, no managers, no settings, no HTTP."""
    paths = [p for p in files(*PRODUCT) if p.name == name]

    def look(node: ast.AST) -> str:
        modules = []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        elif isinstance(node, ast.Import):
            modules = [a.name for a in node.names]
        impure = r"^(django|rest_framework)(?!\.db$)|\.models$|\.services\b|^core\.(tasks|audit)"
        bad = [m for m in modules if re.search(impure, m)]
        if isinstance(node, ast.Attribute) and node.attr == "objects":
            bad.append("objects")
        return ", ".join(bad)

    assert paths and found(iter(paths), look) == []


def test_locks_hold_hashes_and_no_address() -> None:
    """Whoever installs says from where; what is installed is what was locked."""
    for path in ROOT.glob("requirements*.lock"):
        text = path.read_text()
        assert not re.search(r"https?://|--index|--extra-index|--find-links|--trusted-host", text), path.name
        pins = re.findall(r"(?m)^([\w.\-\[\],]+==\S+)(?: ; [^\\]+)? \\$", text)
        lines = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert len(pins) == len(lines) > 0, path.name
        assert len(re.findall(r"(?m)^    --hash=sha256:[0-9a-f]{64}", text)) >= len(pins)


def test_no_file_of_the_repository_is_huge() -> None:
    """Sources, not artefacts: the lab's schemas are the largest, and packed."""
    folders = (*PRODUCT, "tests", "docs", "static", "templates")
    sizes = {p.relative_to(ROOT): p.stat().st_size for f in folders for p in (ROOT / f).rglob("*") if p.is_file()}
    large = {str(path): size for path, size in sizes.items() if size > 400_000 and "__pycache__" not in path.parts}
    assert large == {}


def test_no_test_is_switched_off() -> None:
    """No unconditional skips, no expected failures."""

    def look(node: ast.AST) -> str:
        marks = [ast.unparse(d) for d in getattr(node, "decorator_list", [])]
        return next((m for m in marks if re.search(r"mark\.(skip\b|xfail)|unittest\.skip", m)), "")

    assert found(files("tests"), look) == []
