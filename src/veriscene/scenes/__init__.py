"""What a scene is, and the files it lives in. No torch here."""
