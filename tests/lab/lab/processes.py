"""Starts, finds and stops the lab's processes, each by its recorded pid and start time.

It knows nothing of OpenStack, and it must never signal a process that the lab did not start: a
pid counts only while the process behind it has the start time that was recorded.
"""

import contextlib
import hashlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lab.settings import ADDRESS, HOME, LOG, RUN

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
STATE, GROUP, USER_TICKS, CHILD_SYSTEM_TICKS, START = 0, 2, 11, 14, 19


def say(text: str) -> None:
    """Print a line of progress with the seconds since this command began."""
    print(f"[{elapsed():6.1f}s] {text}", flush=True)


def elapsed() -> float:
    """Seconds since this process began; it survives an exec."""
    began = int(_stat_fields(os.getpid())[START]) / CLOCK_TICKS
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def listening(port: int) -> bool:
    """Whether something accepts connections on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((ADDRESS, port)) == 0


def log_file(name: str) -> Path:
    """Where a process or a step writes its output."""
    return LOG / f"{name}.log"


def run(
    command: Sequence[object], log: str, env: Mapping[str, str] | None = None, check: bool = True
) -> int:
    """Run a command to its end with its output in a log; a failure ends the program."""
    process = start(command, log, env)
    if process.wait() and check:
        words = " ".join(map(str, command))
        sys.exit(f"command failed ({process.returncode}), see {log_file(log)}: {words}")
    return process.returncode


def start(
    command: Sequence[object], log: str, env: Mapping[str, str] | None = None, daemon: bool = False
) -> "subprocess.Popen[bytes]":
    """Start a command with its output in a log; a daemon leads its own process group."""
    LOG.mkdir(parents=True, exist_ok=True)
    with log_file(log).open("ab") as output:
        return subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=env,
            cwd=HOME,
            start_new_session=daemon,
        )


def spawn(
    name: str,
    command: Sequence[object],
    env: Mapping[str, str] | None = None,
    inputs: Iterable[Path] = (),
) -> None:
    """Start a daemon, unless it runs already with the same command and the same input files."""
    digest = hashlib.sha256(" ".join(map(str, command)).encode())
    for path in inputs:
        digest.update(path.read_bytes())
    mark = digest.hexdigest()[:16]
    if alive(name):
        if _pid_file(name).read_text().split()[2] == mark:
            return
        say(f"restarting {name}: its configuration changed")
        stop([name])
    process = start(command, name, env, daemon=True)
    _pid_file(name).write_text(f"{process.pid} {_start_ticks(process.pid)} {mark}\n")


def recorded() -> list[str]:
    """Names of the processes that were started and not stopped by the lab."""
    return sorted(path.stem for path in RUN.glob("*.pid"))


def alive(name: str) -> int | None:
    """The pid recorded for a name, if that very process still runs."""
    try:
        pid, start_ticks, _ = _pid_file(name).read_text().split()
    except (OSError, ValueError):
        return None
    return int(pid) if _start_ticks(int(pid)) == start_ticks else None


def wait_until(condition: Callable[[], bool], name: str, problem: str, seconds: float) -> None:
    """Wait for a condition; the death of the named process or a time-out ends the program."""
    end = time.monotonic() + seconds
    while not condition():
        if _pid_file(name).exists() and not alive(name):
            sys.exit(f"{name} has ended, see {log_file(name)}")
        if time.monotonic() > end:
            sys.exit(f"{problem}, see {log_file(name)}")
        time.sleep(0.2)


def stop(names: Iterable[str], grace: float = 15) -> None:
    """Stop recorded processes with their process groups, gently first, and forget them."""
    names = list(names)
    groups = {pid for pid in map(alive, names) if pid}
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)
            os.kill(group, signal.SIGTERM)
    end = time.monotonic() + grace
    while (groups := groups & _living_groups()) and time.monotonic() < end:
        time.sleep(0.1)
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    for name in names:
        _pid_file(name).unlink(missing_ok=True)


def usage(group: int) -> tuple[int, float]:
    """Proportional memory in KiB and CPU seconds of a process group."""
    memory, ticks = 0, 0
    for pid, fields in _all_processes():
        if int(fields[GROUP]) != group:
            continue
        ticks += sum(map(int, fields[USER_TICKS : CHILD_SYSTEM_TICKS + 1]))
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    memory += int(line.split()[1])
    return memory, ticks / CLOCK_TICKS


def cpu_seconds() -> float:
    """CPU time of this command, of its finished children and of every daemon of the lab."""
    finished = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    daemons = [usage(pid)[1] for pid in map(alive, recorded()) if pid]
    return sum(entry.ru_utime + entry.ru_stime for entry in finished) + sum(daemons)


def _pid_file(name: str) -> Path:
    return RUN / f"{name}.pid"


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name, which may itself hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _start_ticks(pid: int) -> str | None:
    try:
        fields = _stat_fields(pid)
    except OSError:
        return None
    return None if fields[STATE] in "ZX" else fields[START]


def _all_processes() -> Iterator[tuple[int, list[str]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(folder.name), _stat_fields(int(folder.name))


def _living_groups() -> set[int]:
    return {int(fields[GROUP]) for _, fields in _all_processes() if fields[STATE] not in "ZX"}
