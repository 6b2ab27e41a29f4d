"""Settings that every installation shares. What differs between machines comes from the environment.

Nothing here asks whether it runs on one machine or on many: `DATABASE_URL` and `CELERY_BROKER_URL` decide.
"""

from datetime import timedelta
from pathlib import Path

from config.env import BASE_DIR, HOME, env, installation_id, keyring, secret_key
from config.logs import configure_logs

SECRET_KEY = secret_key()
SKYDECK_HOME = HOME
SKYDECK_KEYRING = keyring()
SKYDECK_INSTALLATION = installation_id()
# Networks that addresses typed by people (identity URLs, webhooks) may not lie in, beside those always denied.
SKYDECK_OUTBOUND_DENY = env.list("SKYDECK_OUTBOUND_DENY", default=[])
SKYDECK_OUTBOUND_ALLOW = env.list("SKYDECK_OUTBOUND_ALLOW", default=[])

DEBUG = False
ALLOWED_HOSTS = env.list("SKYDECK_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("SKYDECK_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "config",
    "core",
    "identity",
    "compute",
    "unfold",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "core.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "identity.access.middleware.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"console": "core.admin.tags"},
        },
    },
]

DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{HOME / 'skydeck.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # IMMEDIATE takes the write lock at the start: a busy timeout cannot help a transaction that read first.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA mmap_size=134217728;"
        "PRAGMA cache_size=-20000;PRAGMA journal_size_limit=27103364",
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 60
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "identity.User"
LOGIN_URL = "/console/login/"
LOGIN_REDIRECT_URL = "/console/"
AUTHENTICATION_BACKENDS = ["identity.access.backend.ActorBackend"]
# A log-in name is unique within its domain, not alone; our backend knows how to read `name@domain`.
SILENCED_SYSTEM_CHECKS = ["auth.W004"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = HOME / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Static files are served from where the apps keep them: no collecting step before the first start.
WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "identity.login.authentication.TokenAuthentication",
        "identity.login.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["core.api.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.api.renderers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.api.renderers.Negotiation",
    "DEFAULT_PAGINATION_CLASS": "core.api.pagination.LimitOffset",
    "DEFAULT_SCHEMA_CLASS": "core.api.schema.Schema",
    "EXCEPTION_HANDLER": "core.api.problems.exception_handler",
    "URL_FORMAT_OVERRIDE": None,
    # Datetimes stay datetimes until the renderer writes them, once, as ISO 8601 in UTC with `Z`.
    "DATETIME_FORMAT": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
REST_KNOX = {
    "TOKEN_MODEL": "identity.ApiToken",
    "AUTH_HEADER_PREFIX": "Token",
    "TOKEN_TTL": timedelta(hours=24),
}
KNOX_TOKEN_MODEL = "identity.ApiToken"  # noqa: S105  (a model's name)
SPECTACULAR_SETTINGS = {
    "TITLE": "Skydeck",
    "DESCRIPTION": "One console and one API for many clouds. Every change is a plan that can be read before it is sent.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": r"/api",
    "ENUM_NAME_OVERRIDES": {
        "AskedStatus": "compute.loadbalancers.serializers.ASKED_STATUS",
        "BackendGroupType": "compute.loadbalancers.choices.GroupType",
        "BackendType": "compute.loadbalancers.choices.BackendType",
        "CloudResource": "compute.accounts.choices.Resource",
        "EndpointInterface": "compute.accounts.choices.Interface",
        "ListenerType": "compute.loadbalancers.choices.ListenerType",
        "NewListenerType": "compute.loadbalancers.serializers.LISTENER_TYPES",
        "MatchedBy": "compute.projects.choices.MatchedBy",
        "RoleScope": "identity.access.models.SCOPES",
        "TaskState": "core.tasks.models.STATES",
        "TokenScope": "identity.login.models.TOKEN_SCOPES",
    },
}

# Celery carries only the ids of tasks; the task row is the truth.
BROKER_FOLDER: Path = HOME / "broker"
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://")
SKYDECK_EMBEDDED_BROKER = CELERY_BROKER_URL.startswith("filesystem:")
if SKYDECK_EMBEDDED_BROKER:
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_FOLDER),
        "data_folder_out": str(BROKER_FOLDER),
        "control_folder": str(BROKER_FOLDER / "control"),
        "polling_interval": 0.1,
    }
elif CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 3600,
        "unacked_restore_limit": 100,
        "interval": 1,
    }
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "fast"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# One quick second try: it is what makes beat and web servers open a new connection after the broker was away. A ring that
# fails all the same is harmless.
CELERY_TASK_PUBLISH_RETRY = True
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}
CELERY_BROKER_CONNECTION_TIMEOUT = 3.0
CELERY_TIMEZONE = "UTC"
# How often the periodic parts run, seconds. The embedded broker loses messages when it is killed, so its sweep is quick.
SKYDECK_SWEEP_SECONDS = 1.0 if SKYDECK_EMBEDDED_BROKER else 5.0
SKYDECK_REAP_SECONDS = 5.0

LOGGING_CONFIG = None
configure_logs(level=env.str("SKYDECK_LOG_LEVEL", default="INFO"), as_json=env.bool("SKYDECK_LOG_JSON", default=False))

# The console: its look, and what stands in the sidebar (a page of the console, or the list of a model).
UNFOLD = {
    "SITE_TITLE": "Skydeck",
    "SITE_HEADER": "Skydeck",
    "SITE_URL": None,
    "SHOW_BACK_BUTTON": False,
    "STYLES": [f"{STATIC_URL}skydeck/skydeck.css"],
    "SCRIPTS": [f"{STATIC_URL}skydeck/skydeck.js"],
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": f"{STATIC_URL}skydeck/favicon.svg"}],
    "BORDER_RADIUS": "6px",
    "COLORS": {
        "primary": {
            "50": "oklch(97% .014 254.604)", "100": "oklch(93.2% .032 255.585)", "200": "oklch(88.2% .059 254.128)",
            "300": "oklch(80.9% .105 251.813)", "400": "oklch(70.7% .165 254.624)", "500": "oklch(62.3% .214 259.815)",
            "600": "oklch(54.6% .245 262.881)", "700": "oklch(48.8% .243 264.376)", "800": "oklch(42.4% .199 265.638)",
            "900": "oklch(37.9% .146 265.522)", "950": "oklch(28.2% .091 267.935)",
        },
    },
    "SIDEBAR": {
        "navigation": [
            {
                "title": "Overview",
                "items": [
                    {"page": "index", "title": "Home", "icon": "space_dashboard"},
                    {"model": "task", "title": "Tasks", "icon": "bolt"},
                    {"model": "auditevent", "title": "Audit", "icon": "history"},
                ],
            },
            {
                "title": "Load balancing",
                "items": [
                    {"model": "loadbalancer", "title": "Load balancers", "icon": "account_tree"},
                    {"model": "listener", "title": "Listeners", "icon": "hearing"},
                    {"model": "backendgroup", "title": "Backend groups", "icon": "workspaces"},
                    {"model": "backend", "title": "Backends", "icon": "dns"},
                ],
            },
            {
                "title": "Network",
                "items": [
                    {"model": "network", "title": "Networks", "icon": "lan"},
                    {"model": "vpc", "title": "VPCs", "icon": "hub"},
                    {"model": "eip", "title": "Elastic IPs", "icon": "public"},
                ],
            },
            {
                "title": "Clouds",
                "items": [
                    {"model": "cloudaccount", "title": "Accounts", "icon": "cloud"},
                    {"model": "proxysetting", "title": "Proxies", "icon": "vpn_lock"},
                    {"model": "cloudregion", "title": "Regions", "icon": "location_on"},
                    {"model": "externalproject", "title": "External projects", "icon": "folder_shared"},
                    {"model": "mappingrule", "title": "Mapping rules", "icon": "rule_settings"},
                    {"model": "syncrun", "title": "Sync runs", "icon": "sync"},
                ],
            },
            {
                "title": "People",
                "items": [
                    {"model": "domain", "title": "Domains", "icon": "domain"},
                    {"model": "project", "title": "Projects", "icon": "folder"},
                    {"model": "user", "title": "Users", "icon": "group"},
                    {"model": "role", "title": "Roles", "icon": "badge"},
                    {"model": "roleassignment", "title": "Role assignments", "icon": "assignment_ind"},
                ],
            },
        ],
    },
}  # fmt: skip
