"""Index of the app's faces in the console; each lives in its family."""

from compute import home
from compute.accounts import admin as accounts
from compute.eips import admin as eips
from compute.loadbalancers import admin as loadbalancers
from compute.networks import admin as networks
from compute.projects import admin as projects
from compute.proxies import admin as proxies
from compute.regions import admin as regions
from compute.sync import admin as sync

__all__ = ["accounts", "eips", "home", "loadbalancers", "networks", "projects", "proxies", "regions", "sync"]
