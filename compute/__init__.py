"""Cloud accounts, what is in them, and the plans that change it: one folder per resource family."""
