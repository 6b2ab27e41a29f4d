"""The words of a region's state. The catalogue of its cloud decides which holds; nothing else may."""

from __future__ import annotations

IN_SERVICE, OUT_OF_SERVICE = "inservice", "outofservice"
