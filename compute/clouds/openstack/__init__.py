"""OpenStack as a cloud: Keystone, Neutron and Octavia through openstacksdk.

`open_openstack` is all that the rest of the product needs. Inside: `transport` is the HTTP edge, `session` logs in, `api` is
one service as JSON, `translate` knows the names, `errors` the meaning of failures, and `account`, `network` and `balancer`
are the ports. The SDK is imported nowhere else in the product.
"""

from compute.clouds.openstack.cloud import open_openstack

__all__ = ["open_openstack"]
