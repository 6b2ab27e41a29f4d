"""The vocabulary that every family shares: tasks and lines, the three-way engine, audit, access, API and admin bases.

It knows no family: nothing here may import `identity`, `compute` or `notify`.
"""
