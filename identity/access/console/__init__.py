"""The console's pages of roles and of who has them. They read, parse, call and show."""
