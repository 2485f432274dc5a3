"""Three levels of reality behind one interface."""
