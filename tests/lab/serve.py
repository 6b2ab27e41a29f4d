"""Serve one OpenStack WSGI application on loopback from a single threaded process.

usage: serve.py NAME MODULE PORT THREADS [ARGUMENT ...]

MODULE is a Python module with an ``application``, or paste:FILE. The ARGUMENTs become
sys.argv[1:] for the application, whose oslo.config may read --config-file from there.
"""

import importlib
import sys
from typing import Any

import waitress
from paste import deploy

HOST = "127.0.0.1"


def load(module: str) -> Any:
    """The application of a module, or the one that a paste file describes."""
    if module.startswith("paste:"):
        return deploy.loadapp("config:" + module.removeprefix("paste:"))
    return importlib.import_module(module).application


def main() -> None:
    """Serve until the process is stopped."""
    name, module, port, threads, *arguments = sys.argv[1:]
    sys.argv = [name, *arguments]
    application = load(module)
    print(f"{name}: serving on {HOST}:{port}", flush=True)
    waitress.serve(
        application,
        host=HOST,
        port=int(port),
        threads=int(threads),
        ident=name,
        channel_timeout=120,
        connection_limit=1000,
        clear_untrusted_proxy_headers=True,
        max_request_body_size=1 << 34,
    )


if __name__ == "__main__":
    main()
