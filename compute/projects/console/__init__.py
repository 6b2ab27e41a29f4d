"""What the console shows of external projects beside their lists."""
