"""The clouds behind small ports. Drivers speak frozen dataclasses, never models, and never wait for a status.

Nothing here imports anything of ours but `core.errors`.
"""
