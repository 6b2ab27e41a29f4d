"""The console's pages of cloud accounts: the form with its connection test, and what is done with an account."""
