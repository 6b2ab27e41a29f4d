"""Tags of objects: what people note on them, and what clouds say."""
