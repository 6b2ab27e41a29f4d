"""State from the cloud → rows of one tree: `recording` what is there, `importing` what is new, `burying` what is gone."""
