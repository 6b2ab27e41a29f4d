"""The scope switcher of browser sessions."""

from django.urls import path

from identity.access.views import switch_scope

urlpatterns = [path("scope/", switch_scope, name="switch-scope")]
