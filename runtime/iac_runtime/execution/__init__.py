"""Carrying out requests: processes, the harness that runs in them, and what their failures mean."""
