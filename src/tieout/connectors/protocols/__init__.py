"""The whole surface of a connector: the protocols that flows call. Optional features are data that flows ask for.

`endpoint` is enough to verify a database; `repair` writes rows; `check` and `paths` check a database against itself;
`move` and `change_log` move rows and follow changes.
"""
