"""Ours beside the peers, in one run: `python -m benchmarks [--quick] [--only NAME] [--json]`.

`harness` times contenders in interleaved rounds, `report` prints, each other file is one row of the table and says what its
workload is. Every row runs in a process of its own, so that no peer's threads weigh on another row.
"""
