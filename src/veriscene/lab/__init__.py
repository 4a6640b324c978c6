"""Many runs with one purpose: seeds, tables, searches."""
