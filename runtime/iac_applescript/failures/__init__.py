"""Why a script failed: causes by number and by words, fixes, and mended scripts."""
