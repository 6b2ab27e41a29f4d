"""One live account per login, and whose an object is by the cloud's own id of the project."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Q

from compute.accounts.rules import KEY_OF_APPLICATION, KEY_OF_PASSWORD, login_key

LOGIN = ("access_url", "auth_kind", *KEY_OF_PASSWORD, *KEY_OF_APPLICATION)


def give_keys(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """The older of two accounts with one login gets the key; the other stays without one and works on."""
    accounts = apps.get_model("compute", "CloudAccount").objects.using(editor.connection.alias)
    taken: set[str] = set()
    for account in accounts.filter(deleted_at=None).order_by("created_at", "id").values("id", "provider", *LOGIN):
        key = login_key(account["provider"], account)
        if key not in taken:
            taken.add(key)
            accounts.filter(pk=account["id"]).update(login_key=key)


def owner() -> models.CharField:
    return models.CharField(max_length=128, blank=True, default="", editable=False)


class Migration(migrations.Migration):
    dependencies = [("compute", "0002_changed_outside")]

    operations = [
        migrations.AddField("cloudaccount", "cloud_user_id", owner()),
        migrations.AddField("cloudaccount", "cloud_project_id", owner()),
        migrations.AddField("cloudaccount", "endpoints", models.JSONField(blank=True, default=dict, editable=False)),
        migrations.AddField(
            "cloudaccount", "login_key", models.CharField(blank=True, default="", editable=False, max_length=64)
        ),
        migrations.AddField("vpc", "external_project_id", owner()),
        migrations.AddField("network", "external_project_id", owner()),
        migrations.AddField("eip", "external_project_id", owner()),
        migrations.RunPython(give_keys, migrations.RunPython.noop),
        migrations.AddConstraint(
            "cloudaccount",
            models.UniqueConstraint(
                fields=["login_key"], condition=Q(deleted_at=None) & ~Q(login_key=""), name="cloudaccount_login"
            ),
        ),
    ]
