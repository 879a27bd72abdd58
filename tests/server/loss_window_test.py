"""Goal: tools/loss_window reports the age of what a kill removes, and finds a state that is of no single moment.
Method: its comparison gets states that are right and wrong, and the tool runs with epochs that are longer than the limit.

usage: loss_window_test.py PROGRAM TOOL
"""
import importlib.machinery
import importlib.util
import random
import subprocess
import sys

PROGRAM, TOOL = sys.argv[1:3]


def loaded():
    loader = importlib.machinery.SourceFileLoader("loss_window", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("loss_window", loader))
    loader.exec_module(module)
    return module


def test_the_comparison(tool):
    changes = tool.Changes(10, random.Random(1))  # numbers from 11 on
    changes.keys = [1, 2, 1, 3]
    changes.replied = [100.000, 100.001, 100.002]  # the fourth had no reply
    before = {1: 9, 7: 10}

    def loss(found):
        return tool.Loss(changes, before, found, 100.012)

    nothing = loss({7: 10, 1: 13, 2: 12, 3: 14})
    assert nothing.is_whole and nothing.count == 0 and nothing.age_ms == 0
    assert loss({7: 10, 1: 13, 2: 12}).count == 0  # a change without a reply may be absent
    two = loss({7: 10, 1: 11})
    assert two.is_whole and two.count == 2 and round(two.age_ms) == 11
    everything = loss(before)
    assert everything.is_whole and everything.count == 3 and round(everything.age_ms) == 12
    assert not loss({7: 10, 1: 13}).is_whole            # 13 without 12
    assert not loss({7: 10, 1: 9, 2: 12}).is_whole      # 12 without 11
    assert not loss({1: 13, 2: 12}).is_whole            # 10, of an earlier life, is lost
    assert not loss({7: 10, 1: 8}).is_whole             # 8 comes back


def run(*options):
    return subprocess.run([TOOL, PROGRAM, "--kills", "5", *options], capture_output=True, text=True, timeout=200)


def main():
    test_the_comparison(loaded())
    usual = run("--limit-ms", "2000")
    assert usual.returncode == 0 and "| 5 | 10 ms | no |" in usual.stdout, usual
    late = run("--epoch-ms", "300", "--limit-ms", "20")
    assert late.returncode == 1 and "removed changes older than 20 ms" in late.stderr, late


main()
