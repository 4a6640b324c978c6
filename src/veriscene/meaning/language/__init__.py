"""The program language from the inside: types, functions, tree, evaluation, and text in both directions.

Use it through `meaning.program` and `meaning.notation`.
"""
