"""Writes the configuration of every service into the lab's ``etc``.

The settings live in one function per service as plain dictionaries. Files are rewritten on every
start, so an edit by hand does not last; keys and certificates are made once and kept.
"""

import base64
import datetime
import hashlib
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from lab.settings import (
    ADDRESS,
    AUTH_URL,
    DATA,
    ETC,
    PASSWORD,
    REGIONS,
    SERVICES,
    VENV,
    Service,
    broker_url,
    database_url,
)

Sections = dict[str, dict[str, object]]

KEYSTONE_KEYS = ("fernet-keys", "credential-keys")
GLANCE_STORES = ("images", "staging", "tasks")
PASTE_FILES = {"barbican": "barbican-api-paste.ini", "nova": "api-paste.ini"}
NOVA_COMPUTE_CONFIG = ETC / "nova" / "nova-compute.conf"
QUIET_LOGGERS = (
    "amqp=WARN,sqlalchemy=WARN,oslo.messaging=WARN,urllib3=WARN,stevedore=WARN,"
    "keystonemiddleware=WARN,taskflow=WARN,oslo_policy=ERROR"
)


def write(services: Sequence[Service]) -> None:
    """Write the files of these services, which make up one profile."""
    for service in services:
        sections = _sections(service, has_barbican=SERVICES["barbican"] in services)
        (DATA / service.name / "lock").mkdir(parents=True, exist_ok=True)
        service.config.parent.mkdir(parents=True, exist_ok=True)
        _write_ini(service.config, sections)
        (service.config.parent / "policy.yaml").touch()
        if service.name == "nova":
            # nova-compute refuses to start when it is told of a database.
            databases = ("database", "api_database")
            _write_ini(
                NOVA_COMPUTE_CONFIG, {k: v for k, v in sections.items() if k not in databases}
            )
        if service.name in PASTE_FILES:
            file_name = PASTE_FILES[service.name]
            shutil.copyfile(_packaged(service.name, file_name), service.config.parent / file_name)
        # Services run with HOME in etc, and oslo.config looks into ~/.NAME.
        link = ETC / f".{service.name}"
        if not link.is_symlink():
            link.symlink_to(service.name)
    for name in GLANCE_STORES:
        (DATA / "glance" / name).mkdir(parents=True, exist_ok=True)
    for name in KEYSTONE_KEYS:
        _make_key_repository(ETC / "keystone" / name)
    _make_certificate_authority(ETC / "octavia")
    # stevedore caches entry points under HOME, and those of the lab's drivers may have changed.
    shutil.rmtree(ETC / ".cache" / "python-entrypoints", ignore_errors=True)


def _sections(service: Service, has_barbican: bool) -> Sections:
    own = {
        "keystone": _keystone,
        "neutron": _neutron,
        "barbican": _barbican,
        "glance": _glance,
        "placement": _placement,
        "nova": _nova,
        "cinder": _cinder,
    }
    sections = _common(service)
    special = _octavia(has_barbican) if service.name == "octavia" else own[service.name]()
    for section, values in special.items():
        sections.setdefault(section, {}).update(values)
    return sections


def _common(service: Service) -> Sections:
    """Settings that every service understands."""
    state = DATA / service.name
    return {
        "DEFAULT": {
            "state_path": state,
            "transport_url": broker_url() if service.workers else "fake:/",
            "use_stderr": "true",
            "debug": "false",
            "default_log_levels": QUIET_LOGGERS,
        },
        "database": {
            "connection": database_url(service.name),
            "max_pool_size": 5,
            "max_overflow": 20,
        },
        "oslo_concurrency": {"lock_path": state / "lock"},
        "oslo_messaging_notifications": {"driver": "noop"},
        "oslo_messaging_rabbit": {
            "heartbeat_timeout_threshold": 0,
            "kombu_reconnect_delay": "0.5",
        },
        "oslo_policy": {"policy_file": ETC / service.name / "policy.yaml"},
    }


def _credentials(user: str) -> dict[str, object]:
    return {
        "auth_type": "password",
        "auth_url": AUTH_URL,
        "username": user,
        "password": PASSWORD,
        "project_name": "service",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }


def _client(user: str) -> dict[str, object]:
    """How a service calls another one."""
    return {**_credentials(user), "region_name": REGIONS[0], "valid_interfaces": "public"}


def _authtoken(user: str) -> dict[str, object]:
    """How a service checks the tokens of its callers."""
    return {
        **_credentials(user),
        "region_name": REGIONS[0],
        "interface": "public",
        "www_authenticate_uri": AUTH_URL,
        "service_token_roles": "service",
        "service_token_roles_required": "true",
        "token_cache_time": 60,
    }


def _keystone() -> Sections:
    keys = {name: ETC / "keystone" / name for name in KEYSTONE_KEYS}
    return {
        "fernet_tokens": {"key_repository": keys["fernet-keys"], "max_active_keys": 3},
        "fernet_receipts": {"key_repository": keys["fernet-keys"]},
        "credential": {"key_repository": keys["credential-keys"]},
        "token": {"provider": "fernet", "expiration": 86400},
        "identity": {"password_hash_rounds": 4},
        "cache": {
            "enabled": "true",
            "backend": "dogpile.cache.memory",
            "expiration_time": 5,
        },
    }


def _neutron() -> Sections:
    return {
        "DEFAULT": {
            "core_plugin": "ml2",
            "auth_strategy": "keystone",
            "service_plugins": "router,qos,port_forwarding,segments",
            "api_paste_config": _packaged("neutron", "api-paste.ini"),
            "notify_nova_on_port_status_changes": "false",
            "notify_nova_on_port_data_changes": "false",
            "max_allowed_address_pair": 50,
        },
        "keystone_authtoken": _authtoken("neutron"),
        "ml2": {
            "type_drivers": "flat,vlan,vxlan,local",
            "tenant_network_types": "vxlan",
            "mechanism_drivers": "oslab",
            "extension_drivers": "port_security,qos",
        },
        "ml2_type_flat": {"flat_networks": "*"},
        "ml2_type_vlan": {"network_vlan_ranges": "physnet1:100:999"},
        "ml2_type_vxlan": {"vni_ranges": "1:9999"},
        "placement": _client("neutron"),
        "nova": _client("neutron"),
    }


def _octavia(has_barbican: bool) -> Sections:
    certificate, key = ETC / "octavia" / "ca.pem", ETC / "octavia" / "ca.key"
    return {
        "api_settings": {
            "bind_host": ADDRESS,
            "bind_port": SERVICES["octavia"].port,
            "enabled_provider_drivers": (
                "amphora:The Octavia Amphora driver.,"
                "octavia:Alias of amphora.,"
                "noop_driver:Accepts everything and stays PENDING."
            ),
            "default_provider_driver": "amphora",
            "allow_tls_terminated_listeners": "true",
        },
        "keystone_authtoken": _authtoken("octavia"),
        "service_auth": _client("octavia"),
        "neutron": _client("octavia"),
        "oslo_messaging": {"topic": "octavia_prov", "rpc_thread_pool_size": 4},
        "controller_worker": {
            "workers": 1,
            "amphora_driver": "amphora_noop_driver",
            "compute_driver": "oslab",
            "network_driver": "allowed_address_pairs_driver",
            "volume_driver": "volume_noop_driver",
            "image_driver": "image_noop_driver",
            "distributor_driver": "distributor_noop_driver",
            "amp_image_tag": "amphora",
            "amp_flavor_id": "1",
            "amp_boot_network_list": "",
            "amp_active_wait_sec": 1,
            "amp_active_retries": 10,
            "loadbalancer_topology": "SINGLE",
            "client_ca": certificate,
        },
        "certificates": {
            "cert_generator": "local_cert_generator",
            "ca_certificate": certificate,
            "ca_private_key": key,
            "ca_private_key_passphrase": PASSWORD,
            "server_certs_key_passphrase": "oslab-insecure-32-byte-key-00000",
            "cert_manager": "barbican_cert_manager" if has_barbican else "noop_cert_manager",
            "region_name": REGIONS[0],
            "endpoint_type": "publicURL",
        },
        "health_manager": {"heartbeat_key": PASSWORD, "bind_ip": ADDRESS},
        "networking": {"port_detach_timeout": 5, "retry_interval": 1},
    }


def _barbican() -> Sections:
    key = base64.b64encode(hashlib.sha256(PASSWORD.encode()).digest()).decode()
    return {
        "DEFAULT": {
            "host_href": SERVICES["barbican"].url,
            "sql_connection": database_url("barbican"),
            "db_auto_create": "false",
        },
        "keystone_authtoken": _authtoken("barbican"),
        "secretstore": {"enabled_secretstore_plugins": "store_crypto"},
        "crypto": {"enabled_crypto_plugins": "simple_crypto"},
        "simple_crypto_plugin": {"kek": key},
    }


def _glance() -> Sections:
    images, staging, tasks = (DATA / "glance" / name for name in GLANCE_STORES)
    return {
        "DEFAULT": {
            "enabled_backends": "file:file",
            "worker_self_reference_url": SERVICES["glance"].url,
        },
        "glance_store": {"default_backend": "file"},
        "file": {"filesystem_store_datadir": images},
        "os_glance_staging_store": {"filesystem_store_datadir": staging},
        "os_glance_tasks_store": {"filesystem_store_datadir": tasks},
        "keystone_authtoken": _authtoken("glance"),
        "paste_deploy": {
            "flavor": "keystone",
            "config_file": _packaged("glance", "glance-api-paste.ini"),
        },
    }


def _placement() -> Sections:
    return {
        "placement_database": {"connection": database_url("placement"), "max_pool_size": 5},
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": _authtoken("placement"),
    }


def _nova() -> Sections:
    return {
        "DEFAULT": {
            # The one fake driver that keeps its node identity over a restart.
            "compute_driver": "fake.FakeDriverWithoutFakeNodes",
            "host": "oslab-compute",
            "my_ip": ADDRESS,
            "vif_plugging_timeout": 0,
            "vif_plugging_is_fatal": "false",
            "log_options": "false",
            "instance_name_template": "instance-%08x",
            "concurrency_backend": "threading",
            # Otherwise the host is mapped to its cell up to a minute late.
            "periodic_fuzzy_delay": 0,
        },
        "api": {"auth_strategy": "keystone"},
        "wsgi": {"api_paste_config": _packaged("nova", "api-paste.ini")},
        "api_database": {"connection": database_url("nova_api"), "max_pool_size": 5},
        "keystone_authtoken": _authtoken("nova"),
        "service_user": {**_credentials("nova"), "send_service_user_token": "true"},
        "placement": _client("nova"),
        "neutron": _client("nova"),
        "glance": {"region_name": REGIONS[0], "valid_interfaces": "public"},
        "cinder": {
            "os_region_name": REGIONS[0],
            "catalog_info": "block-storage:cinder:publicURL",
        },
        "conductor": {"workers": 1},
        "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": 5},
        "vnc": {
            "enabled": "true",
            "server_listen": ADDRESS,
            "server_proxyclient_address": ADDRESS,
            "novncproxy_base_url": f"http://{ADDRESS}:6080/vnc_auto.html",
        },
        "key_manager": {"backend": "barbican"},
        "cache": {"enabled": "false"},
    }


def _cinder() -> Sections:
    return {
        "DEFAULT": {
            "auth_strategy": "keystone",
            "enabled_backends": "oslab",
            "default_volume_type": "oslab",
            "my_ip": ADDRESS,
            "host": "oslab-volume",
            "api_paste_config": _packaged("cinder", "api-paste.ini"),
            "resource_query_filters_file": _packaged("cinder", "resource_filters.json"),
            "glance_api_servers": SERVICES["glance"].url,
        },
        "oslab": {
            "volume_driver": "oslab_drivers.cinder_driver.LabVolumeDriver",
            "volume_backend_name": "oslab",
        },
        "keystone_authtoken": _authtoken("cinder"),
        "service_user": {**_credentials("cinder"), "send_service_user_token": "true"},
        "nova": _client("cinder"),
        "coordination": {"backend_url": f"file://{DATA / 'cinder'}"},
    }


def _packaged(service: str, file_name: str) -> Path:
    """A file that a service's Python package installs under ``etc``."""
    return VENV / "etc" / service / file_name


def _write_ini(path: Path, sections: Mapping[str, Mapping[str, object]]) -> None:
    # oslo.config would interpolate a $ in a value; none of these has one.
    lines: list[str] = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in values.items()), ""]
    path.write_text("\n".join(lines))


def _make_key_repository(folder: Path) -> None:
    if folder.exists():
        return
    folder.mkdir(mode=0o700)
    for name in ("0", "1"):
        key = folder / name
        key.write_bytes(base64.urlsafe_b64encode(secrets.token_bytes(32)))
        key.chmod(0o600)


def _make_certificate_authority(folder: Path) -> None:
    """Make the authority that signs the certificates of Octavia's amphorae."""
    if (folder / "ca.pem").exists():
        return
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "oslab amphora CA")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.BestAvailableEncryption(PASSWORD.encode()),
    )
    (folder / "ca.key").write_bytes(private)
    (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
