"""The console's pages of projects and people: forms that call the directory's services."""
