"""Benchmarks: Slidewise, its peers and its floors in the same run, on seeded workloads, checked before they are timed.

python -m bench [arrays|spark_batch|spark_streaming|slider|all] [--quick] [--json PATH]   ──► bench/results/*.json
python -m bench.plot                                                               ──► docs/pictures/*.png
"""
