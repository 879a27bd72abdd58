#!/usr/bin/python3
"""The report of `make bench`, on small results that are written here.

usage: report_test.py ROOT
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "tools"))
from reporting import claims, page, plots, results, tables  # noqa: E402

ABOUT = {"machine": "a machine, 2 CPUs, Linux 6.1, clwb", "build": "GNU 12, Release", "commit": "0123456789abcdef"}


def point(policy, mops, **fields):
    """A point of an experiment as outlast-bench writes it."""
    return {"figure": "paper/fig01", "structure": "harris_list", "policy": policy, "domain": "adr", "threads": 1,
            "size": 128, "update_percent": 5, "workload": "uniform", "added_fence_ns": 0, "twin_on_media": False,
            "mops": mops, "ratio_to_transient": mops / 10, "flushes_per_op": 0.5, "fences_per_op": None,
            "repetitions": 3, "spread": 0.1, "ratio_spread": 0.1, "seconds": 0.1, "quick": False, **ABOUT, **fields}


def micro(subject, value, unit="Mops/s"):
    return {"micro": "some", "subject": subject, "value": value, "unit": unit, "repetitions": 3, "spread": 0.0,
            "wanted_at_least": None, "wanted_at_most": None, **ABOUT}


EXPERIMENT = [point("transient", 10.0, domain="process"), point("fast", 8.0), point("slow", 2.0),
              point("fast", 12.0, threads=2), point("slow", 4.0, threads=2)]
FASTER = {"says": "fast is faster", "where": {"policy": "fast"}, "against": {"policy": "slow"}}


class Claims(unittest.TestCase):
    def test_a_ratio_at_every_point_is_compared_with_the_bound(self):
        verdict = claims.judge({**FASTER, "at_least": 3}, EXPERIMENT)
        self.assertEqual(verdict.status, claims.HOLDS)
        self.assertEqual([value for value, _ in verdict.seen], [3.0, 4.0])

    def test_a_claim_that_fails_at_one_point_fails_and_says_where_and_why(self):
        verdict = claims.judge({**FASTER, "at_least": 3.5, "why_not": "DRAM"}, EXPERIMENT)
        self.assertEqual(verdict.status, claims.FAILS)
        self.assertEqual(verdict.why_not, "DRAM")
        self.assertIn("furthest 3 (harris_list, fast, 2 threads", verdict.text)

    def test_the_reason_why_not_is_kept_back_where_a_claim_holds(self):
        self.assertEqual(claims.judge({**FASTER, "at_least": 1, "why_not": "DRAM"}, EXPERIMENT).why_not, "")

    def test_the_median_or_any_point_may_decide(self):
        self.assertEqual(claims.judge({**FASTER, "at_least": 3.5, "judge": "median"}, EXPERIMENT).status, claims.HOLDS)
        self.assertEqual(claims.judge({**FASTER, "at_least": 4, "judge": "any"}, EXPERIMENT).status, claims.HOLDS)
        self.assertEqual(claims.judge({**FASTER, "at_least": 5, "judge": "any"}, EXPERIMENT).status, claims.FAILS)

    def test_an_upper_bound_bounds(self):
        self.assertEqual(claims.judge({**FASTER, "at_most": 4}, EXPERIMENT).status, claims.HOLDS)
        self.assertEqual(claims.judge({**FASTER, "at_most": 3.9}, EXPERIMENT).status, claims.FAILS)

    def test_extremes_are_those_that_were_measured(self):
        claim = {"says": "", "where": {"policy": "fast", "threads": "max"}, "value": "mops", "at_least": 12}
        verdict = claims.judge(claim, EXPERIMENT)
        self.assertEqual([value for value, _ in verdict.seen], [12.0])

    def test_points_are_compared_along_an_axis(self):
        claim = {"says": "scales", "where": {"policy": "slow", "threads": 2}, "against": {"threads": 1}, "at_least": 2}
        self.assertEqual(claims.judge(claim, EXPERIMENT).status, claims.HOLDS)

    def test_points_of_the_same_unit_are_compared(self):
        points = [{**micro("", value, unit), "threads": threads} for value, unit, threads in
                  [(12.0, "flushes/op", 1), (2.0, "fences/op", 1), (30.0, "flushes/op", 2), (1.0, "fences/op", 2)]]
        claim = {"says": "fewer", "where": {"unit": "fences/op", "threads": 2}, "against": {"threads": 1}, "at_most": 1}
        self.assertEqual([value for value, _ in claims.judge(claim, points).seen], [0.5])

    def test_what_was_not_measured_is_named(self):
        absent = {**FASTER, "where": {"policy": "absent"}, "at_least": 1}
        verdict = claims.judge(absent, EXPERIMENT)
        self.assertEqual(verdict.status, claims.UNKNOWN)
        self.assertIn("policy = absent", verdict.text)
        alone = claims.judge({**FASTER, "against": {"policy": "gone"}, "at_least": 1}, EXPERIMENT)
        self.assertEqual(alone.status, claims.UNKNOWN)
        self.assertIn("none to compare with, policy = gone", alone.text)
        self.assertIn("nothing was measured", claims.judge({**FASTER, "at_least": 1}, []).text)
        uncounted = {"says": "", "where": {"policy": "fast"}, "value": "fences_per_op", "at_most": 1}
        self.assertIn("nobody counted", claims.judge(uncounted, EXPERIMENT).text)

    def test_a_claim_that_says_nothing_or_too_much_is_refused(self):
        for wrong in (FASTER, {**FASTER, "at_least": 1, "atleast": 2}, {"says": "", "at_least": 1}):
            with self.assertRaises(claims.Malformed):
                claims.judge(wrong, EXPERIMENT)

    def test_goals_of_experiments_are_claims(self):
        goal = {"policies": ["fast"], "domain": "adr", "threads": [2], "at_least": 2.0, "against": "slow"}
        to_twin = {"policies": ["slow"], "domain": "adr", "at_least": 0.3}
        judged = [claims.judge(each, EXPERIMENT) for each in claims.goals_of_experiment({"goal": [goal, to_twin]})]
        self.assertEqual([one.status for one in judged], [claims.HOLDS, claims.FAILS])

    def test_goals_of_micro_benchmarks_are_reached_or_not(self):
        good = {**micro("a", 2.0), "wanted_at_least": 1.0}
        bad = {**micro("b", 2.0), "wanted_at_most": 1.0}
        self.assertEqual([reached for _, _, reached in claims.goals_of_micros([good, bad, micro("c", 1)])],
                         [True, False])


class Results(unittest.TestCase):
    PATTERNS = [{"subject": r"map, (?P<bytes>\d+) B, (?P<series>\w+)", "unit": "Mops/s", "fields": {"kind": "map"}},
                {"subject": r"store, (?P<series>\w+)", "unit": "Kops/s", "times": 0.001, "as_unit": "Mops/s"}]

    def test_sentences_of_micro_benchmarks_become_fields(self):
        measured = results.measured_from([micro("map, 64 B, ours", 3.0), micro("map, 64 B, ours", 3.0, "ratio"),
                                          micro("store, theirs", 500, "Kops/s")], self.PATTERNS)
        self.assertEqual([(p["series"], p["value"], p["unit"]) for p in measured.points],
                         [("ours", 3.0, "Mops/s"), ("theirs", 0.5, "Mops/s")])
        self.assertEqual(measured.points[0]["bytes"], 64)
        self.assertEqual(measured.points[0]["kind"], "map")
        self.assertEqual(len(measured.unread), 1)

    def test_lines_about_the_run_are_kept(self):
        measured = results.measured_from([{"run": {"quick": True, "cpus": 2}}, *EXPERIMENT, {"run": {"took_s": 3}}], [])
        self.assertEqual((measured.about["quick"], measured.about["took_s"]), (True, 3))
        self.assertEqual(measured.about["machine"], ABOUT["machine"])
        self.assertEqual(len(measured.points), len(EXPERIMENT))

    def test_no_file_is_no_result(self):
        self.assertEqual(results.load("/nowhere/at-all.jsonl", []).points, [])


class Plots(unittest.TestCase):
    def test_what_varies_is_the_axis(self):
        drawn = plots.of_experiment("title", EXPERIMENT, "mops")
        self.assertEqual(drawn.x, "threads")
        self.assertEqual(list(drawn.panels), ["harris_list, 128 keys, 5 % updates"])
        self.assertIsNone(plots.of_experiment("title", EXPERIMENT[:3], "mops").x)

    def test_lines_and_bars_become_svg_with_text_and_note(self):
        for points in (EXPERIMENT, EXPERIMENT[:3]):
            svg = plots.draw(plots.of_experiment("A & B", points, "mops", "the note"))
            text = "".join(xml.etree.ElementTree.fromstring(svg).itertext())
            for wanted in ("A & B", "fast on adr", "transient", "million operations per second", "the note"):
                self.assertIn(wanted, text)

    def test_identifiers_in_a_page_of_many_plots_are_its_own(self):
        svg = plots.draw(plots.of_experiment("title", EXPERIMENT, "mops"))
        inlined = plots.inlined(svg, "p1")
        identifiers = re.findall(r'\bid="([^"]+)"', inlined)
        self.assertTrue(identifiers)
        self.assertTrue(all(name.startswith("p1-") for name in identifiers))
        for name in re.findall(r'(?:href="#|url\(#)([^")]+)', inlined):
            self.assertIn(name, identifiers)

    def test_nothing_to_draw_is_no_plot(self):
        self.assertIsNone(plots.draw(plots.of_experiment("title", [], "mops")))

    def test_emulation_and_machine_stand_in_the_note(self):
        measured = results.measured_from([point("mirror", 1.0, added_fence_ns=300, domain="slowed<adr>")], [])
        note = plots.note_on(measured, plots.emulation_of(measured.points))
        for wanted in ("a machine", "GNU 12", "0123456789ab", "slowed<adr>", "slower fences emulated", "DRAM"):
            self.assertIn(wanted, note)


PAPER = """
order = 1
key = "Key1"
name = "A <paper>"
title = "Its title."
machine = "theirs"
[[not_built]]
name = "an absent system"
why = "because"
[[figure]]
file = "paper/fig01"
of = "Figure 1"
[[figure.claim]]
says = "fast is faster & better"
where = { policy = "fast" }
against = { policy = "slow" }
at_least = 3.5
why_not = "no media"
[[figure]]
file = "paper/fig02"
of = "Figure 2"
needs = "time"
[[figure.claim]]
says = "never measured"
where = { series = "ours" }
at_least = 1
[[figure]]
file = "some"
micro = "some"
of = "Table 1"
title = "a table"
[[figure.pattern]]
subject = '(?P<row>\\w+), (?P<series>\\w+)'
[[figure.plot]]
kind = "table"
rows = ["row"]
column = "series"
"""
BESIDE = """
order = 2
[beside]
intro = ["How they compare."]
[[beside.table]]
title = "side"
[[beside.table.system]]
name = "We"
series = "ours"
[[beside.table.system]]
name = "They"
series = "theirs"
[[beside.table.row]]
name = "speed"
subject = "a, b"
unit = "Mops/s"
from = ["some"]
[[beside.table.row]]
name = "order"
said = { "We" = "yes" }
otherwise = "no"
[choices]
[[choices.row]]
need = "a | need"
take = "the set"
[[choices.row.number]]
from = "paper/fig01"
where = { policy = "fast", threads = 2 }
words = "{} M/s"
[[choices.row.number]]
from = "paper/fig02"
where = { policy = "fast" }
words = "{} ms"
[[choices.row]]
need = "another"
take = "`a map`"
[[choices.row.number]]
from = "paper/fig02"
where = { policy = "fast" }
words = "{} ms"
"""


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("papers", "figures/paper", "results", "output"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "papers/paper.toml").write_text(PAPER)
        (self.folder / "papers/beside.toml").write_text(BESIDE)
        (self.folder / "figures/paper/fig01.toml").write_text(
            'title = "a < b"\n[[goal]]\npolicies = ["slow"]\ndomain = "adr"\nat_least = 0.3\n')
        self.results("paper-fig01", [{"run": {"cpus": 2}}, *EXPERIMENT])
        self.results("some", [micro("first, ours", 1.5), micro("first, theirs", 2.5), micro("a, b: ours", 7.0)])

    def results(self, name, records):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (self.folder / "results" / (name + ".jsonl")).write_text(lines)

    def report(self):
        return page.Report(self.folder / "papers", self.folder / "figures", self.folder / "results")

    def written(self):
        html, data = self.report().write(self.folder / "output")
        return html.read_text(), json.loads(data.read_text())

    def test_the_page_is_well_formed_and_needs_nothing_else(self):
        html, _ = self.written()
        xml.etree.ElementTree.fromstring(html.replace("<!DOCTYPE html>", ""))
        self.assertNotRegex(html, r"<(script|link|img|iframe|object|embed)\b")
        self.assertNotRegex(html, r"""(src|href)\s*=\s*["'](?!#)""")
        self.assertNotRegex(html, r"url\((?!#)|@import")

    def test_claims_verdicts_and_reasons_stand_beside_each_other(self):
        html, data = self.written()
        self.assertIn("fast is faster &amp; better", html)
        self.assertIn("no media", html)
        self.assertIn("a &lt; b", html)
        first = data["figures"]["paper/fig01"]["claims"][0]
        self.assertEqual((first["status"], first["why_not"]), (claims.FAILS, "no media"))
        self.assertEqual(data["figures"]["paper/fig02"]["claims"][0]["status"], claims.UNKNOWN)

    def test_what_is_missing_is_named(self):
        html, _ = self.written()
        self.assertIn("an absent system", html)
        self.assertIn("Not in this run: time", html)
        self.assertIn("This machine has 2 CPUs", html)

    def test_goals_that_were_missed_are_listed(self):
        _, data = self.written()
        self.assertEqual((data["goals"]["all"], data["goals"]["reached"]), (1, 0))
        self.assertEqual(data["goals"]["missed"][0]["figure"], "paper/fig01")

    def test_a_table_is_a_table(self):
        shaped = self.report().figure(self.report().figures["some"])
        self.assertEqual(shaped["plots"], [])
        self.assertEqual(shaped["tables"][0].rows, [["first", "1.5", "2.5"]])

    def test_systems_stand_side_by_side(self):
        table = self.report().beside()["tables"][0]
        self.assertEqual(table.columns, ["", "unit", "We", "They"])
        self.assertEqual(table.rows, [["speed", "Mops/s", "7", "not measured"], ["order", "", "yes", "no"]])

    def test_the_decision_table_is_markdown_with_numbers(self):
        table = self.report().decision_table().splitlines()
        self.assertEqual(table[1], "|---|---|---|")
        self.assertEqual(table[2], r"| a \| need | the set | 12 M/s |")
        self.assertEqual(table[3], "| another | `a map` | not measured in this run |")
        self.assertIn("<code>a map</code>", self.written()[0])

    def test_figures_of_an_earlier_report_stay_if_they_were_not_measured_again(self):
        _, before = self.written()
        earlier = self.folder / "output/figures.json"
        (self.folder / "results/paper-fig01.jsonl").unlink()
        (self.folder / "results/some.jsonl").unlink()
        report = page.Report(self.folder / "papers", self.folder / "figures", self.folder / "results", earlier)
        _, data = report.write(self.folder / "output")
        self.assertEqual(json.loads(data.read_text()), before)
        self.results("some", [micro("first, ours", 3.5)])
        report = page.Report(self.folder / "papers", self.folder / "figures", self.folder / "results", earlier)
        self.assertEqual([point["value"] for point in report.measured("some").points], [3.5])
        self.assertEqual(len(report.measured("paper/fig01").points), len(EXPERIMENT))

    def test_a_quick_run_says_so(self):
        self.assertNotIn("A quick run", self.written()[0])
        self.results("paper-fig01", [{"run": {"quick": True}}, *EXPERIMENT])
        self.assertIn("A quick run", self.written()[0])


class Data(unittest.TestCase):
    """What stands in bench/report agrees with bench/figures."""

    @classmethod
    def setUpClass(cls):
        cls.papers = results.load_papers(ROOT / "bench/report")
        cls.figures = [figure for paper in cls.papers for figure in paper.get("figure", [])]
        cls.experiments = {}
        for path in (ROOT / "bench/figures").rglob("*.toml"):
            with open(path, "rb") as file:
                experiment = tomllib.load(file)
            cls.experiments[experiment["figure"]] = experiment

    def test_every_experiment_has_its_place_in_the_report(self):
        reported = {figure["file"] for figure in self.figures if "micro" not in figure}
        self.assertEqual(reported, set(self.experiments))

    def test_every_experiment_is_found_in_its_room(self):
        for figure in self.experiments:
            self.assertIsNotNone(results.experiment_of(ROOT / "bench/figures", figure), figure)

    def test_all_claims_can_be_judged(self):
        for figure in self.figures:
            for claim in figure.get("claim", []):
                self.assertEqual(claims.judge(claim, []).status, claims.UNKNOWN)

    def test_claims_name_what_is_measured(self):
        for figure in self.figures:
            experiment = self.experiments.get(figure["file"], {})
            if "policies" not in experiment:
                continue
            allowed = {"policy": experiment["policies"], "structure": experiment["structures"],
                       "domain": experiment["domains"], "update_percent": experiment["update_percents"]}
            for claim in figure.get("claim", []):
                for key, value in [*claim["where"].items(), *claim.get("against", {}).items()]:
                    for one in value if isinstance(value, list) else [value]:
                        if key in allowed:
                            self.assertIn(one, allowed[key], f"{figure['file']}: {claim['says']}")

    def test_figures_of_micro_benchmarks_say_how_to_read_them(self):
        for figure in self.figures:
            if "policies" not in self.experiments.get(figure["file"], {"policies": "micro" not in figure}):
                self.assertTrue(figure.get("pattern"), figure["file"])
            for pattern in figure.get("pattern", []):
                re.compile(pattern["subject"])


FAKE = """#!/bin/sh
echo run >>"$COUNTED"
case "$*" in *broken*) exit 3 ;; esac
echo '{"micro": "some", "subject": "a, b", "value": 1, "unit": "ms", "repetitions": 1, "spread": 0}'
"""


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "papers").mkdir()
        self.program = self.folder / "fake"
        self.program.write_text(FAKE)
        self.program.chmod(0o755)
        self.counted = self.folder / "counted"
        self.name_figures("first", "second")

    def name_figures(self, *names):
        text = "order = 1\n" + "".join(f'[[figure]]\nfile = "{n}"\nmicro = "{n}"\nlasts_s = 1\n' for n in names)
        (self.folder / "papers/paper.toml").write_text(text)

    def measure(self, *arguments):
        command = [str(ROOT / "tools/measure"), "--program", str(self.program), "--results",
                   str(self.folder / "results"), "--papers", str(self.folder / "papers"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "COUNTED": str(self.counted)})

    def runs(self):
        return len(self.counted.read_text().splitlines()) if self.counted.exists() else 0

    def test_a_run_goes_on_where_it_was(self):
        self.assertEqual(self.measure("first").returncode, 0)
        self.assertEqual(self.measure().returncode, 0)
        self.assertEqual(self.runs(), 2)
        measured = results.load(self.folder / "results/first.jsonl", [])
        self.assertEqual(len(measured.unread), 1)
        self.assertIn("took_s", measured.about)

    def test_all_is_measured_again_if_asked_or_if_it_was_quick(self):
        self.measure("--quick")
        self.measure()
        self.assertEqual(self.runs(), 4)
        self.measure("--redo", "second")
        self.assertEqual(self.runs(), 5)

    def test_what_fails_leaves_no_file_and_keeps_nothing_else_from_being_measured(self):
        self.name_figures("broken", "second")
        done = self.measure()
        self.assertEqual(done.returncode, 1)
        self.assertIn("not measured: broken", done.stderr)
        self.assertFalse((self.folder / "results/broken.jsonl").exists())
        self.assertTrue((self.folder / "results/second.jsonl").exists())

    def test_a_plan_measures_nothing(self):
        self.assertIn("2 s = 0 min", self.measure("--plan").stdout)
        self.assertEqual(self.runs(), 0)


if __name__ == "__main__":
    unittest.main()
