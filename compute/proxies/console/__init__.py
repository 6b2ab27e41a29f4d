"""The console's pages of proxy settings."""
