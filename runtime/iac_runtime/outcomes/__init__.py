"""What a write did, read back; and how it is taken back."""
