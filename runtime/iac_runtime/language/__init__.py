"""Names of objects and values as people and apps write them: references, filters, types, values."""
