"""Files of lists: nothing in them runs when a spreadsheet opens it."""

from __future__ import annotations

import csv
import datetime
import io
import json
import uuid
import zipfile
from typing import Any
from xml.etree import ElementTree

import pytest

from core.api.exports import FORMATS, harmless

ROWS: list[dict[str, Any]] = [
    {"name": "=cmd|' /C calc'!A0", "n": 1, "ok": True, "at": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)},
    {"name": 'a "quoted", <b>\x07', "n": 1.5, "ok": None, "at": None},
]
COLUMNS = ["name", "n", "ok", "at"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1+1", "＠SUM(A1)", "\t=1", "\r=1"])
def test_what_a_spreadsheet_would_run_is_made_harmless(text: str) -> None:
    assert harmless(text) == f"'{text}"


def test_other_values_stay_what_they_are() -> None:
    one = uuid.uuid4()
    assert [harmless(v) for v in ("a=1", -1, 0.5, None, False, one, {"a": 1}, ["x"])] == [
        "a=1", -1, 0.5, "", "false", str(one), '{"a":1}', '["x"]',
    ]  # fmt: skip


def written(form: str, rows: list[dict[str, Any]] = ROWS) -> bytes:
    return b"".join(FORMATS[form][1](iter(rows), COLUMNS))


def test_csv() -> None:
    lines = list(csv.reader(io.StringIO(written("csv").decode("utf-8-sig"), newline="")))
    assert lines[0] == COLUMNS
    assert lines[1] == ["'=cmd|' /C calc'!A0", "1", "true", "2026-01-01T00:00:00Z"]


def test_json() -> None:
    assert [row["name"] for row in json.loads(written("json"))] == [row["name"] for row in ROWS]
    assert json.loads(written("json", [])) == []


def test_xlsx_is_well_formed() -> None:
    book = zipfile.ZipFile(io.BytesIO(written("xlsx")))
    for name in book.namelist():
        ElementTree.fromstring(book.read(name))  # noqa: S314  (our own text)
    sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert "'=cmd" in sheet and "<v>1.5</v>" in sheet and "&lt;b&gt;" in sheet and "\x07" not in sheet
