"""The program language: types, functions, syntax tree, parser, unparser and evaluation.

Other packages use it through `meaning.program` and `meaning.notation`.
"""
