"""The OpenStack lab: installs, configures, starts and stops real services on loopback.

Start it with ``bin/lab``. Modules that import more than the standard library run only inside the
lab's own virtual environment, behind ``inside.py``.
"""
