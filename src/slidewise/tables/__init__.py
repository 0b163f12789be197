"""Containers in this process: lists, NumPy, Arrow, pandas and Polars, in and out of columns."""
