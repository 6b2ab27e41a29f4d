"""What the console can do with regions."""
