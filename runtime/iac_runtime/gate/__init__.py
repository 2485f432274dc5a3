"""The gate: every call, whoever makes it, planned, judged, limited, recorded and carried out."""
