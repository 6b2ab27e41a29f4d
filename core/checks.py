"""System checks: what is not declared does not start."""
