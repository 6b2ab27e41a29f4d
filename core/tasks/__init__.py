"""Long work: task rows are the truth, Celery is the engine that runs them.

`services.start` inserts a row, `doorbell` rings, `runner` claims and runs, `periodic` sweeps and reaps.
"""
