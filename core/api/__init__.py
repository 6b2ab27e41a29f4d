"""The base of the REST API: one viewset, strict parameters, problems, paging, schema. It knows no family."""
