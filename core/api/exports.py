"""A whole list as a file: CSV, JSON or a spreadsheet, row by row. Cells that a spreadsheet would run are made harmless."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Any
from xml.sax.saxutils import escape

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from core.api.renderers import JSONRenderer

Rows = Iterable[dict[str, Any]]
# What spreadsheets take for a formula when a cell begins with it.
RUNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
# Control characters have no place in XML.
NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
PIECE = 64 * 1024


def harmless(value: Any) -> Any:
    """A cell's value: numbers as they are, everything else as text that no spreadsheet runs."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return value
    text = value if isinstance(value, str) else JSONRenderer().render(value).decode().strip('"')
    return f"'{text}" if text.startswith(RUNS) else text


def as_csv(rows: Rows, columns: list[str]) -> Iterator[bytes]:
    """CSV as of RFC 4180, in UTF-8 with a mark at the start, which spreadsheets want."""
    line = io.StringIO()
    writer = csv.writer(line)
    yield "\ufeff".encode()
    writer.writerow(columns)
    for row in rows:
        writer.writerow([harmless(row.get(name)) for name in columns])
        yield line.getvalue().encode()
        line.seek(0)
        line.truncate()
    yield line.getvalue().encode()


def as_json(rows: Rows, columns: list[str]) -> Iterator[bytes]:
    """One JSON array."""
    render = JSONRenderer().render
    between = b"["
    for row in rows:
        yield between + render({name: row.get(name) for name in columns})
        between = b",\n"
    yield b"[]" if between == b"[" else b"]"


PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName='
    '"/xl/worksheets/sheet1.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
    'Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Export" sheetId="1" '
    'r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
}


def as_xlsx(rows: Rows, columns: list[str]) -> Iterator[bytes]:
    """A workbook of one sheet. A zip is told by its end, so it is made whole (on disk, if it is large) before it goes out."""
    with SpooledTemporaryFile(max_size=2**22) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as book:
            for name, text in PARTS.items():
                book.writestr(name, text)
            with book.open("xl/worksheets/sheet1.xml", "w") as sheet:
                sheet.write(b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>')
                sheet.write(_sheet_row(columns))
                for row in rows:
                    sheet.write(_sheet_row([harmless(row.get(name)) for name in columns]))
                sheet.write(b"</sheetData></worksheet>")
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


def _sheet_row(values: list[Any]) -> bytes:
    cells = (
        f"<c><v>{value}</v></c>"
        if isinstance(value, (int, float))
        else f'<c t="inlineStr"><is><t xml:space="preserve">{escape(NOT_XML.sub("", value))}</t></is></c>'
        for value in values
    )
    return f"<row>{''.join(cells)}</row>".encode()


FORMATS: dict[str, tuple[str, Callable[[Rows, list[str]], Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "json": ("application/json", as_json),
    "xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", as_xlsx),
}


def respond(request: HttpRequest, rows: Rows, columns: list[str], *, form: str, name: str) -> StreamingHttpResponse:
    """The file as a stream, under either kind of server."""
    content_type, write = FORMATS[form]
    pieces = write(rows, columns)
    stream: Any = _in_thread(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(stream, content_type=content_type)
    # Django's gzip middleware makes every piece of an asynchronous stream a gzip file of its own; clients read the first.
    response.headers["Content-Encoding"] = "identity"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


async def _in_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    @sync_to_async
    def take() -> bytes:
        """Some rows together: going to the thread and back costs more than a row does."""
        taken = bytearray()
        for piece in pieces:
            taken += piece
            if len(taken) >= PIECE:
                break
        return bytes(taken)

    while piece := await take():
        yield piece
