"""What a script would do: its tokens, its statements, its level and the reasons."""
