"""Runs one command of ``bin/lab``.

Whatever needs only the standard library is done here. The rest is handed to ``inside.py`` under
the lab's own Python, which this process becomes.
"""

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from lab import hooks, state
from lab.arguments import parse
from lab.environment import without_openstack
from lab.install import PYTHON, install
from lab.lock import only_one
from lab.processes import say
from lab.settings import CLOUDS_YAML, DEFAULT_CLOUD, REGIONS, SOURCE, VENV

NOT_RUNNING = 3


def main() -> int:
    """Run the command of this process's arguments and return its exit code."""
    arguments = parse(sys.argv[1:])
    match arguments.command:
        case "up" if state.is_current(arguments.profile) and not arguments.install_only:
            say("the lab is up already")
            state.print_access()
        case "up":
            with only_one():
                install()
            if not arguments.install_only:
                _continue_inside()
        case "status":
            if arguments.json:
                print(json.dumps(state.describe(), indent=2))
            else:
                state.print_status()
            return 0 if state.is_up() else NOT_RUNNING
        case "openstack":
            _run_client(arguments.words)
        case "pause":
            hooks.pause(arguments.name)
        case "resume":
            hooks.resume(arguments.name)
        case "member-health":
            hooks.member_health(arguments.id, arguments.state)
        case "smoke":
            command = [PYTHON, "-P", SOURCE / "smoke.py", *arguments.sections]
            _become(command, dict(os.environ))
        case _:
            _continue_inside()
    return 0


def _continue_inside() -> NoReturn:
    _become([PYTHON, "-P", "-m", "lab.inside", *sys.argv[1:]], dict(os.environ))


def _run_client(words: list[str]) -> NoReturn:
    environment = {
        **without_openstack(),
        "OS_CLIENT_CONFIG_FILE": str(CLOUDS_YAML),
        "OS_CLOUD": os.environ.get("OS_CLOUD", DEFAULT_CLOUD),
        "OS_REGION_NAME": os.environ.get("OS_REGION_NAME", REGIONS[0]),
    }
    _become([VENV / "bin" / "openstack", *words], environment)


def _become(command: list[str | Path], environment: dict[str, str]) -> NoReturn:
    if not Path(command[0]).exists():
        sys.exit(f"nothing is installed in {VENV}; run bin/lab up")
    os.execve(command[0], [str(word) for word in command], environment)


if __name__ == "__main__":
    sys.exit(main())
