"""Templates of generated modules: layout only, every decision was made before."""
