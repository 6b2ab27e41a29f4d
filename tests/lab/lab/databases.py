"""Creates the lab's databases and brings them to the newest schema.

Migrating everything takes more than a minute, so dumps of freshly migrated, still empty databases
are kept beside the source, for exactly one requirements.lock. It touches only databases whose
names begin with the lab's prefix.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pymysql

from lab import processes
from lab.environment import service_environment
from lab.processes import say
from lab.settings import (
    ADDRESS,
    DATA,
    DB_PORT,
    DB_PREFIX,
    DB_USER,
    HOME,
    LOCK_FILE,
    PASSWORD,
    REGIONS,
    SERVICES,
    SOURCE,
    VENV,
    Service,
    broker_url,
    database_url,
)

DUMPS_NAME = "schema-" + hashlib.sha256(LOCK_FILE.read_bytes()).hexdigest()[:12]
KEPT_DUMPS = SOURCE / DUMPS_NAME
FRESH_DUMPS = HOME / "cache" / DUMPS_NAME
MIGRATION_ORDER = (  # the slowest first
    "neutron",
    "keystone",
    "nova",
    "cinder",
    "octavia",
    "glance",
    "barbican",
    "placement",
)
CELL_EXISTS = ("nova", 2)  # what "nova-manage cell_v2 create_cell" returns for a second time


def connect(database: str | None = None) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    """A connection as MariaDB's root, to the server or to one of the lab's databases."""
    name = DB_PREFIX + database if database else None
    return pymysql.connect(host=ADDRESS, port=DB_PORT, user="root", database=name, autocommit=True)


def create(services: Sequence[Service]) -> None:
    """Make the databases and the account of the services where they are missing."""
    own = DB_PREFIX.replace("_", r"\_") + "%"
    with closing(_connect_patiently()) as connection, connection.cursor() as cursor:
        for host in (ADDRESS, "localhost"):
            account = f"'{DB_USER}'@'{host}'"
            cursor.execute(f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT ALL ON `{own}`.* TO {account}")
        cursor.execute("SET GLOBAL max_connections = GREATEST(@@max_connections, 500)")
        for name in _databases(services):
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb3")


def drop() -> None:
    """Remove the lab's databases and account from a server that outlives the lab."""
    with closing(connect()) as connection, connection.cursor() as cursor:
        for name in _databases(list(SERVICES.values())):
            cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        for host in (ADDRESS, "localhost"):
            cursor.execute(f"DROP USER IF EXISTS '{DB_USER}'@'{host}'")


def prepare(services: Sequence[Service], ready: Callable[[Service], None]) -> None:
    """Bring each service's databases to the newest schema and call ``ready`` as it is done."""
    filled = _databases_with_tables()
    empty, unfinished = [], []
    for service in services:
        if filled.isdisjoint(_databases([service])):
            empty.append(service)
        elif not _stamp(service).exists():
            unfinished.append(service)
        else:
            ready(service)
    for service in _restore(empty):
        empty.remove(service)
        _stamp(service).touch()
        say(f"database of {service.name} is loaded from its dump")
        ready(service)
    _migrate([*empty, *unfinished], ready)


def keep_dumps() -> Path:
    """Copy the dumps of the last real migration beside the source."""
    if not FRESH_DUMPS.exists():
        sys.exit(f"no dumps in {FRESH_DUMPS}; a first start after a change of the lock makes them")
    shutil.copytree(FRESH_DUMPS, KEPT_DUMPS, dirs_exist_ok=True)
    return KEPT_DUMPS


def _connect_patiently() -> "pymysql.Connection[pymysql.cursors.Cursor]":
    """Connect to a server that may just have opened its port."""
    end = time.monotonic() + 20
    while True:
        try:
            return connect()
        except pymysql.err.OperationalError as error:
            if time.monotonic() > end:
                sys.exit(f"cannot reach MariaDB as root without a password: {error}")
            time.sleep(0.2)


def _databases(services: Sequence[Service]) -> list[str]:
    return [DB_PREFIX + name for service in services for name in service.databases]


def _databases_with_tables() -> set[str]:
    with closing(connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT table_schema FROM information_schema.tables")
        return {name for (name,) in cursor.fetchall()}


def _stamp(service: Service) -> Path:
    """Exists once the service's databases have been migrated to the end."""
    return DATA / f"{service.name}.migrated"


def _client_command(program: str) -> list[str]:
    return [
        program,
        "--no-defaults",
        f"--host={ADDRESS}",
        f"--port={DB_PORT}",
        "--user=root",
        "--default-character-set=utf8mb3",
    ]


def _restore(services: Sequence[Service]) -> list[Service]:
    """Load the dumps of those services that have them all; returns these services."""
    if os.environ.get("SKYDECK_LAB_NO_SCHEMA_CACHE") or not shutil.which("mariadb"):
        return []
    restored, clients = [], []
    for service in services:
        for folder in (KEPT_DUMPS, FRESH_DUMPS):
            dumps = [folder / f"{name}.sql.gz" for name in service.databases]
            if all(dump.exists() for dump in dumps):
                clients += [_load(dump) for dump in dumps]
                restored.append(service)
                break
    codes = [client.wait() for client in clients]
    if any(codes):
        sys.exit("a dump could not be loaded; try SKYDECK_LAB_NO_SCHEMA_CACHE=1 after a purge")
    if SERVICES["nova"] in restored:
        _correct_cells()
    return restored


def _load(dump: Path) -> "subprocess.Popen[bytes]":
    name = dump.name.removesuffix(".sql.gz")
    command = [*_client_command("mariadb"), DB_PREFIX + name]
    client = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert client.stdin is not None
    with client.stdin:
        client.stdin.write(gzip.decompress(dump.read_bytes()))
    return client


def _correct_cells() -> None:
    """Nova keeps addresses in a database; a dump holds those of the lab that made it."""
    update = "UPDATE cell_mappings SET database_connection=%s, transport_url=%s WHERE name=%s"
    with closing(connect("nova_api")) as connection, connection.cursor() as cursor:
        cursor.execute(update, (database_url("nova_cell0"), "none:///", "cell0"))
        cursor.execute(update, (database_url("nova"), broker_url(), "cell1"))


def _dump(service: Service) -> None:
    """Keep the migrated, still empty databases for the next start from nothing."""
    if not shutil.which("mariadb-dump"):
        return
    FRESH_DUMPS.mkdir(parents=True, exist_ok=True)
    options = ["--skip-comments", "--skip-dump-date", "--no-tablespaces", "--single-transaction"]
    for name in service.databases:
        command = [*_client_command("mariadb-dump"), *options, DB_PREFIX + name]
        result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        partial = FRESH_DUMPS / f"{name}.partial"
        partial.write_bytes(gzip.compress(result.stdout, mtime=0))
        partial.rename(FRESH_DUMPS / f"{name}.sql.gz")


def _migrate(services: Sequence[Service], ready: Callable[[Service], None]) -> None:
    """Run the services' own migrations, a few services side by side."""
    waiting = sorted(services, key=lambda service: MIGRATION_ORDER.index(service.name))
    running: dict[Service, tuple[subprocess.Popen[bytes], list[list[object]]]] = {}
    environment = service_environment()
    places = max(2, os.cpu_count() or 2)

    def begin(service: Service, commands: list[list[object]]) -> None:
        process = processes.start(commands[0], _migration_log(service), environment)
        running[service] = (process, commands[1:])

    while waiting or running:
        while waiting and len(running) < places:
            service = waiting.pop(0)
            begin(service, _migration_commands(service))
        for service, (process, remaining) in list(running.items()):
            if process.poll() is None:
                continue
            del running[service]
            if process.returncode and (service.name, process.returncode) != CELL_EXISTS:
                for other, _ in running.values():
                    other.terminate()
                log = processes.log_file(_migration_log(service))
                sys.exit(f"the migration of {service.name} failed, see {log}")
            if remaining:
                begin(service, remaining)
                continue
            _dump(service)
            _stamp(service).touch()
            say(f"database of {service.name} is migrated")
            ready(service)
        time.sleep(0.1)


def _migration_log(service: Service) -> str:
    return f"migrate-{service.name}"


def _migration_commands(service: Service) -> list[list[object]]:
    def manage(program: str, *words: str) -> list[object]:
        return [VENV / "bin" / program, "--config-file", service.config, *words]

    match service.name:
        case "keystone":
            bootstrap = ["--bootstrap-password", PASSWORD, "--bootstrap-region-id", REGIONS[0]]
            return [
                manage("keystone-manage", "db_sync"),
                manage("keystone-manage", "bootstrap", *bootstrap),
            ]
        case "neutron":
            return [manage("neutron-db-manage", "upgrade", "heads")]
        case "octavia":
            return [manage("octavia-db-manage", "upgrade", "head")]
        case "barbican":
            return [[VENV / "bin/barbican-db-manage", "-d", database_url("barbican"), "upgrade"]]
        case "glance":
            return [manage("glance-manage", "db_sync")]
        case "nova":
            cell0 = ["map_cell0", "--database_connection", database_url("nova_cell0")]
            return [
                manage("nova-manage", "api_db", "sync"),
                manage("nova-manage", "cell_v2", *cell0),
                manage("nova-manage", "db", "sync"),
                manage("nova-manage", "cell_v2", "create_cell", "--name", "cell1"),
            ]
        case name:
            return [manage(f"{name}-manage", "db", "sync")]
