"""Words of external projects."""

from django.db import models


class ProjectStatus(models.TextChoices):
    """Spec 3. `creating` lasts until the cloud has it; `unknown`: disabled there, or without a role for us (rule 88)."""

    AVAILABLE = "available", "available"
    CREATING = "creating", "creating"
    UNKNOWN = "unknown", "unknown"


class MatchedBy(models.TextChoices):
    """What of a cloud project a mapping rule looks at."""

    NAME = "name", "name"
    TAG = "tag", "tag"


class Source(models.TextChoices):
    """Who decided whom something belongs to: a person, or what a cloud told."""

    LOCAL = "local", "a person"
    CLOUD = "cloud", "the cloud"
