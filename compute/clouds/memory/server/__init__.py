"""The cloud's half of a memory cloud: what Keystone, Neutron and Octavia do with a request, inside one transaction."""
