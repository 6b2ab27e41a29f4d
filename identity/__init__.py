"""Who works here: domains, projects and users (`directory`), roles and rights (`access`), tokens and log-in (`login`).

It knows neither compute nor notify.
"""
