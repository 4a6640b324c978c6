"""Runs as self-contained HTML pages, and figures for papers."""
