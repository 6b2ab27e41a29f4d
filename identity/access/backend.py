from django.contrib.auth.backends import BaseBackend


class ActorBackend(BaseBackend):
    pass
