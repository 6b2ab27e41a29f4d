"""Accounts remember whether cloud projects get local projects of their own, and that a deletion failed."""

from django.db import migrations, models


def keep_what_was_chosen(apps, schema_editor):
    """An account with a project of its own has put everything there so far; OpenStack never does that from now on (rule 9)."""
    accounts = apps.get_model("compute", "CloudAccount").objects
    accounts.exclude(project=None).exclude(provider="openstack").update(auto_create_project=False)


class Migration(migrations.Migration):

    dependencies = [("compute", "0008_external_projects")]

    operations = [
        migrations.AddField(
            model_name="cloudaccount",
            name="auto_create_project",
            field=models.BooleanField(default=True, editable=False),
        ),
        migrations.AlterField(
            model_name="cloudaccount",
            name="status",
            field=models.CharField(
                choices=[
                    ("init", "not tried yet"),
                    ("connected", "connected"),
                    ("disconnected", "disconnected"),
                    ("deleting", "deleting"),
                    ("delete_failed", "could not be deleted"),
                ],
                default="init",
                max_length=24,
            ),
        ),
        migrations.RunPython(keep_what_was_chosen, migrations.RunPython.noop),
    ]
