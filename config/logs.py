"""Structured logs: one line per event with request and task ids, secrets redacted. It must not touch the database."""

from __future__ import annotations

import logging.config
import re
from collections.abc import MutableMapping
from typing import Any

import structlog

SECRET_WORDS = re.compile(r"pass(word|code)?$|secret|token|authorization|private_key|credential$|cookie", re.IGNORECASE)
SECRET_IN_TEXT = re.compile(
    r"(?i)((?:password|secret|token|x-auth-token|authorization)[\"']?\s*[:=]\s*[\"']?(?:token |bearer |basic )?)[^\s\"',}&]+"
)


def redact_text(text: str) -> str:
    """Blank out what stands behind words like `password=` in free text."""
    return SECRET_IN_TEXT.sub(r"\1[redacted]", text)


def redact(value: Any) -> Any:
    """The same value with everything under a secret-sounding key blanked out, at any depth."""
    if isinstance(value, dict):
        return {k: "[redacted]" if SECRET_WORDS.search(str(k)) else redact(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(v) for v in value]
    if isinstance(value, str):
        return redact_text(value)
    return value


def _redact_event(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {k: v if k.startswith("_") else redact({k: v})[k] for k, v in event.items()}


def configure_logs(*, level: str, as_json: bool) -> None:
    """Send the standard library's and structlog's records through one formatter to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact_event,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: Any = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                "keystoneauth": {"level": "WARNING"},
                "openstack": {"level": "WARNING"},
                "urllib3": {"level": "WARNING"},
                "celery.beat": {"level": "WARNING"},
                "celery.app.trace": {"level": "WARNING"},
                "celery.worker.strategy": {"level": "WARNING"},
                "django.db.backends": {"level": "WARNING"},
            },
        }
    )
