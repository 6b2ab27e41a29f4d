"""Provides a MariaDB and a RabbitMQ: those that already listen, or else the lab's own.

Servers that were there before the lab are used as they are: never configured, restarted or
stopped.
"""

import os
import shutil

from lab import processes
from lab.install import RABBITMQ_SERVER
from lab.processes import alive, listening, say
from lab.settings import ADDRESS, DATA, DB_PORT, ETC, MQ_PORT, RUN

EPMD_PORT = 4369
RABBITMQ_CONFIG = f"""\
listeners.tcp.1 = {ADDRESS}:{MQ_PORT}
log.console = true
log.console.level = warning
log.file = false
disk_free_limit.absolute = 50MB
"""


def start_mariadb() -> None:
    """Start a MariaDB with its data in the lab's home, unless one listens."""
    if listening(DB_PORT):
        if not alive("mariadb"):
            say(f"using the MariaDB on {ADDRESS}:{DB_PORT}")
        return
    data = DATA / "mysql"
    common = ["--no-defaults", f"--datadir={data}", "--user=root"]
    if not (data / "mysql").exists():
        data.mkdir(parents=True, exist_ok=True)
        options = ["--skip-test-db", "--auth-root-authentication-method=normal"]
        processes.run(["mariadb-install-db", *common, *options], "mariadb")
    server = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
    options = [
        f"--bind-address={ADDRESS}",
        f"--port={DB_PORT}",
        f"--socket={RUN / 'mysql.sock'}",
        f"--pid-file={data / 'mysqld.pid'}",
        "--max-connections=500",
        "--innodb-buffer-pool-size=128M",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--sync-binlog=0",
        "--skip-log-bin",
        "--skip-name-resolve",
        "--performance-schema=0",
        "--character-set-server=utf8mb3",
    ]
    processes.spawn("mariadb", [server, *common, *options])


def start_rabbitmq() -> None:
    """Start a RabbitMQ with its data in the lab's home, unless one listens."""
    if listening(MQ_PORT):
        if not alive("rabbitmq"):
            say(f"using the RabbitMQ on {ADDRESS}:{MQ_PORT}")
        return
    base = DATA / "rabbitmq"
    base.mkdir(parents=True, exist_ok=True)
    config = ETC / "rabbitmq.conf"
    config.write_text(RABBITMQ_CONFIG)
    env = {
        **os.environ,
        "HOME": str(base),
        "RABBITMQ_NODENAME": f"oslab{MQ_PORT}@localhost",
        "RABBITMQ_MNESIA_BASE": str(base / "mnesia"),
        "RABBITMQ_LOG_BASE": str(base / "log"),
        "RABBITMQ_CONFIG_FILE": str(config),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(base / "enabled_plugins"),
        "RABBITMQ_DIST_PORT": str(MQ_PORT + 20000),
        "RABBITMQ_PID_FILE": str(base / "pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
            "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none"
        ),
        "ERL_EPMD_ADDRESS": ADDRESS,
    }
    # Erlang would start an epmd by itself, which nobody records and which outlives the lab.
    if not listening(EPMD_PORT) and shutil.which("epmd"):
        command = ["epmd", "-address", ADDRESS, "-relaxed_command_check"]
        processes.spawn("epmd", command, env)
    processes.spawn("rabbitmq", [RABBITMQ_SERVER], env)


def wait() -> None:
    """Wait until both servers accept connections."""
    for name, port in (("mariadb", DB_PORT), ("rabbitmq", MQ_PORT)):
        problem = f"{name} does not listen on port {port}"
        processes.wait_until(lambda port=port: listening(port), name, problem, seconds=90)


def stop() -> None:
    """Stop the lab's own servers; RabbitMQ first, for it needs its epmd to the end."""
    processes.stop(["rabbitmq"], grace=30)
    processes.stop(["epmd", "mariadb"], grace=30)
