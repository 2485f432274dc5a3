"""What worked before: kept, bounded, found again."""
