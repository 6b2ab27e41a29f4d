"""Installs what the lab needs: its virtual environment, its drivers, perhaps two Debian packages.

Runs under any Python 3.11 and imports only the standard library. It changes nothing outside the
lab's home except by apt-get, and that only where no MariaDB or RabbitMQ answers.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from lab import processes
from lab.processes import listening, say
from lab.settings import ADDRESS, DB_PORT, DRIVERS, LOCK_FILE, MQ_PORT, SERVER, SOURCE, VENV

RABBITMQ_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
POLICY_RC = Path("/usr/sbin/policy-rc.d")
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".lab-lock"
ENTRY_POINTS = """\
[neutron.ml2.mechanism_drivers]
oslab = oslab_drivers.neutron_mech:LabMechanismDriver
[octavia.compute.drivers]
oslab = oslab_drivers.octavia_drivers:LabComputeDriver
"""


def install() -> None:
    """Install whatever is missing; does nothing when everything is there."""
    wanted = hashlib.sha256(LOCK_FILE.read_bytes()).hexdigest()
    present = STAMP.read_text() if STAMP.exists() else ""
    pip = None
    if present != wanted:
        if sys.version_info[:2] != (3, 11):
            say("requirements.lock was made for Python 3.11; another version may not do")
        say(f"installing Python packages into {VENV}")
        if not PYTHON.exists():
            processes.run([sys.executable, "-m", "venv", VENV], "pip")
        # The lock names every package, so there is nothing to resolve.
        options = ["--no-deps", "--no-compile", "--disable-pip-version-check"]
        pip = processes.start([PYTHON, "-m", "pip", "install", *options, "-r", LOCK_FILE], "pip")
    _install_debian_packages()
    if pip is not None:
        if pip.wait():
            sys.exit(f"pip failed, see {processes.log_file('pip')}")
        say("Python packages are installed")
        _compile_bytecode()
        say("Python packages are compiled")
        STAMP.write_text(wanted)
    _install_own_files()


def _compile_bytecode() -> None:
    """Compile once; otherwise the first start of every process costs much CPU time."""
    command = [PYTHON, "-m", "compileall", "-q", "-j", "0", "-x", r"/tests?/|/pip/|/locale"]
    processes.run([*command, VENV / "lib"], "pip", check=False)


def _install_own_files() -> None:
    """Copy what the services run of the lab itself, with the entry points that stevedore reads.

    So the running lab does not depend on the checkout that has started it.
    """
    shutil.copyfile(SOURCE / "serve.py", SERVER)
    packages = next((VENV / "lib").glob("python3*")) / "site-packages"
    shutil.copytree(
        DRIVERS,
        packages / DRIVERS.name,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    metadata = packages / "oslab_drivers-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: oslab-drivers\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)


def _install_debian_packages() -> None:
    missing = []
    if not listening(DB_PORT) and not shutil.which("mariadbd"):
        missing.append("mariadb-server")
    if not listening(MQ_PORT) and not RABBITMQ_SERVER.exists():
        missing.append("rabbitmq-server")
    if not missing:
        return
    if not shutil.which("apt-get") or os.geteuid() != 0:
        sys.exit(
            f"needed on {ADDRESS}: MariaDB on port {DB_PORT} (root, no password) and RabbitMQ on "
            f"port {MQ_PORT} (guest/guest); only root on Debian can have them installed"
        )
    say("installing Debian packages: " + " ".join(missing))
    # Without this file the packages would start their services. An existing one stays.
    keeps_stopped = not POLICY_RC.exists()
    if keeps_stopped:
        POLICY_RC.write_text("#!/bin/sh\nexit 101\n")
        POLICY_RC.chmod(0o755)
    # An epmd that the packages start must not listen beyond loopback.
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "ERL_EPMD_ADDRESS": ADDRESS}
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    try:
        if processes.run(command, "apt", env, check=False):
            processes.run(["apt-get", "update"], "apt", env)
            processes.run(command, "apt", env)
    finally:
        if keeps_stopped:
            POLICY_RC.unlink()
