"""Starts the OpenStack services and waits until they really serve.

A service's databases and configuration must be ready before. Nothing is retried here: a process
that ends while it is waited for ends the command, with the name of its log.
"""

import http.client
import sys
from collections.abc import Sequence

import amqp
import kombu

from lab import processes
from lab.configuration import NOVA_COMPUTE_CONFIG
from lab.environment import service_environment
from lab.processes import alive, listening
from lab.settings import ADDRESS, DRIVERS, HEALTH_FILE, SERVER, VENV, Service, Worker, broker_url

PYTHON = VENV / "bin" / "python"
READS_ARGUMENTS = ("octavia", "cinder")  # the others find their configuration by environment


def start_api(service: Service) -> None:
    """Start the process that serves a service's API."""
    if not alive(service.api) and listening(service.port):
        sys.exit(f"port {service.port} for {service.name} is taken by a process of someone else")
    command = [PYTHON, SERVER, service.api, service.application, service.port, service.threads]
    if service.name in READS_ARGUMENTS:
        command += ["--config-file", service.config]
    inputs = [service.config, SERVER, *sorted(DRIVERS.glob("*.py"))]
    processes.spawn(service.api, command, service_environment(), inputs)


def start_workers(service: Service) -> None:
    """Start the processes of a service that have no API."""
    for worker in service.workers:
        if worker.name == "nova-compute":
            # It would look for its conductor once, and again only ten seconds later.
            _wait_for_worker(service.workers[0])
        environment = service_environment()
        command: list[object] = [VENV / "bin" / worker.name]
        if worker.name == "octavia-health":
            command = [PYTHON, "-m", "oslab_drivers.octavia_health"]
            environment["SKYDECK_LAB_HEALTH_FILE"] = str(HEALTH_FILE)
        config = NOVA_COMPUTE_CONFIG if worker.name == "nova-compute" else service.config
        inputs = [config, *sorted(DRIVERS.glob("*.py"))]
        processes.spawn(worker.name, [*command, "--config-file", config], environment, inputs)


def wait_for_api(service: Service) -> None:
    """Wait until a service's API answers with anything but a server error."""
    problem = f"{service.name} does not answer on port {service.port}"
    processes.wait_until(lambda: _answers(service), service.api, problem, seconds=120)


def wait_for_workers(services: Sequence[Service]) -> None:
    """Wait until each worker consumes from its queue.

    A message cast before that is lost, and the load balancer or server that it is about stays in
    its transitional state for good.
    """
    for service in services:
        for worker in service.workers:
            _wait_for_worker(worker)


def _wait_for_worker(worker: Worker) -> None:
    if worker.queue is None:
        return
    with kombu.Connection(broker_url("amqp")) as connection:
        connection.ensure_connection(max_retries=20)
        problem = f"{worker.name} does not consume from {worker.queue}"
        processes.wait_until(
            lambda: _consumes(connection, worker.queue), worker.name, problem, seconds=120
        )


def _answers(service: Service) -> bool:
    connection = http.client.HTTPConnection(ADDRESS, service.port, timeout=30)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status < http.HTTPStatus.INTERNAL_SERVER_ERROR
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _consumes(connection: kombu.Connection, queue: str | None) -> bool:
    channel = connection.channel()
    try:
        return channel.queue_declare(queue, passive=True).consumer_count > 0
    except amqp.NotFound:
        return False
    finally:
        channel.close()
