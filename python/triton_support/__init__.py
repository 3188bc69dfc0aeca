"""Triton candidates without a GPU: run by Triton's interpreter, and compiled ahead of time, in a process each.

Only processes that judge Triton candidates import this package: importing triton takes a second.
"""
