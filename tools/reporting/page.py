"""The report: papers with their figures, judged, drawn and written as one page and as JSON."""

import collections
import functools
import json
import pathlib
import re
import tomllib

import jinja2
import markupsafe

from . import claims, plots, results, tables

HERE = pathlib.Path(__file__).resolve().parent


def marked(text):
    """Text for a page: what stands between backticks is code."""
    return markupsafe.Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(markupsafe.escape(text))))


def without_instruction(machine):
    """A machine's description as it is in every figure: which instruction flushes is a figure's own."""
    return re.sub(r", (clwb|clflushopt|clflush|dc \w+)$", "", re.sub(r"(Linux \d+\.\d+)[^,]*", r"\1", machine))


def is_numeric(text):
    return re.fullmatch(r"-?[\d,.]+(e-?\d+)?", str(text)) is not None


class Report:
    """What the data files say, held against what was measured. Reads each file once, when it is asked for."""

    def __init__(self, papers, experiments, folder, earlier=None):
        """`earlier`: the figures.json of a report, from which figures without a file in `folder` are taken."""
        self.everything = results.load_papers(papers)
        self.papers = [paper for paper in self.everything if "figure" in paper]
        self.experiments = experiments
        self.folder = pathlib.Path(folder)
        self.earlier = json.loads(pathlib.Path(earlier).read_text(encoding="utf-8"))["figures"] if earlier else {}
        self.figures = {figure["file"]: figure for paper in self.papers for figure in paper["figure"]}
        for paper in self.papers:
            for figure in paper["figure"]:
                for key in ("domain", "emulation"):
                    if key in paper:
                        figure.setdefault(key, paper[key])

    @functools.cache
    def measured(self, file):
        patterns = self.figures.get(file, {}).get("pattern", [])
        path = self.folder / results.file_of(file)
        if not path.is_file() and file in self.earlier:
            return results.of_report(self.earlier[file], patterns)
        return results.load(path, patterns)

    @functools.cache
    def experiment(self, file):
        """The TOML file of the figure; nothing for a micro benchmark that stands in no file."""
        path = results.experiment_of(self.experiments, file)
        if path is None:
            return {}
        with open(path, "rb") as toml:
            return tomllib.load(toml)

    def section(self, name):
        return next((each[name] for each in self.everything if name in each), None)

    # ---- Figures ----

    def figure(self, figure):
        measured = self.measured(figure["file"])
        note = plots.note_on(measured, figure.get("emulation", plots.emulation_of(measured.points)),
                             figure.get("domain", ""))
        svgs, grids = self.shapes(figure, measured, note)
        prefix = figure["file"].replace("/", "-")
        return {
            "id": prefix,
            "of": figure["of"],
            "heading": self.heading(figure),
            "differs": figure.get("differs", ""),
            "needs": figure.get("needs", ""),
            "is_measured": bool(measured.points or measured.unread),
            "plots": [plots.inlined(svg, f"{prefix}-{place}") for place, svg in enumerate(svgs) if svg],
            "tables": grids,
            "note": note,
            "verdicts": [claims.judge(claim, measured.points) for claim in figure.get("claim", [])],
            "data": self.data(measured),
        }

    def heading(self, figure):
        """Figure 7: what it shows. A name with a colon says that itself."""
        title = figure.get("title") or self.experiment(figure["file"]).get("title", "")
        return figure["of"] if ":" in figure["of"] or not title else f"{figure['of']}: {title}"

    def shapes(self, figure, measured, note):
        """Plots and tables of a figure. An experiment that asks for nothing is drawn as it varies."""
        title = self.heading(figure)
        svgs, grids = [], []
        for spec in figure.get("plot", [{}] if self.is_experiment(measured) else []):
            points = self.drawn(measured, spec.get("where", {}))
            heading = spec.get("title", title)
            if not points:
                continue
            if spec.get("kind") == "table":
                grids.append(tables.crossed(points, spec["rows"], spec["column"], spec.get("title", "")))
            elif self.is_experiment(measured):
                svgs.append(plots.draw(plots.of_experiment(heading, points, spec.get("value", "mops"), note)))
            else:
                svgs.append(plots.draw(plots.of_micro(heading, points, spec, note)))
        return svgs, grids

    def drawn(self, measured, where):
        """The points of a plot, and the transient twin, which has a domain of its own."""
        found = claims.selected(measured.points, where)
        if not self.is_experiment(measured):
            return found
        rest = {key: value for key, value in where.items() if key != "domain"}
        twins = claims.selected(measured.points, {**rest, "policy": plots.TWIN})
        return [twin for twin in twins if twin not in found] + found

    @staticmethod
    def is_experiment(measured):
        return bool(measured.points) and "mops" in measured.points[0]

    def data(self, measured):
        if self.is_experiment(measured):
            return tables.of_experiment(measured.points)
        records = measured.points + measured.unread
        return tables.of_micro(records) if records else None

    # ---- Sections ----

    @functools.cached_property
    def judged(self):
        """Papers with their figures as the page wants them."""
        done = []
        for paper in self.papers:
            figures = [self.figure(figure) for figure in paper["figure"]]
            counts = collections.Counter(one.status for figure in figures for one in figure["verdicts"])
            done.append({"key": paper["key"], "name": paper["name"], "title": paper["title"],
                         "machine": paper["machine"], "not_built": paper.get("not_built", []), "figures": figures,
                         "counts": {status: counts[status] for status in (claims.HOLDS, claims.FAILS, claims.UNKNOWN)}})
        return done

    def goals(self):
        """Goals of experiments and micro benchmarks: how many, how many are reached, and which are not."""
        total, missed = 0, []
        for file, figure in self.figures.items():
            why = figure.get("why_missed", "")
            measured = self.measured(file)
            for goal in claims.goals_of_experiment(self.experiment(file)):
                verdict = claims.judge(goal, measured.points)
                total += verdict.status != claims.UNKNOWN
                if verdict.status == claims.FAILS:
                    missed.append({"figure": file, "says": goal["says"], "text": verdict.text, "why": why,
                                   "wanted": f"{goal['ratio_of']}, {claims.bound_of(goal)}"})
            for record, wanted, is_reached in claims.goals_of_micros(measured.points + measured.unread):
                total += 1
                if not is_reached:
                    missed.append({"figure": file, "says": record["subject"], "wanted": wanted, "why": why,
                                   "text": f"{claims.short(record['value'])} {record['unit']}"})
        return {"all": total, "reached": total - len(missed), "missed": missed}

    def scaling(self):
        """A sentence: what this run says about many threads."""
        threads = max((point["threads"] for file in self.figures for point in self.measured(file).points
                       if isinstance(point.get("threads"), int)), default=0)
        cpus = next((self.measured(file).about["cpus"] for file in self.figures
                     if "cpus" in self.measured(file).about), None)
        text = "Figures with up to 16 threads are those of `make bench-scaling`. "
        if cpus is not None and cpus < 4:
            return (text + f"This machine has {cpus} CPUs, so they were left out: beyond {cpus} threads a point would say "
                    "how the scheduler shares CPUs, not how a structure scales. The papers' numbers for 8 threads and "
                    "more cannot be checked here.")
        if threads > 2:
            return text + f"The most threads in this run: {threads}. Points with more threads than CPUs share them."
        return text + "No point of this run has more than two threads."

    def choices(self):
        spec = self.section("choices")
        return tables.choices(spec, self.measured) if spec else tables.Table([], [])

    def beside(self):
        spec = self.section("beside") or {"table": []}
        return {"intro": spec.get("intro", []), "tables": [tables.beside(one, self.measured) for one in spec["table"]]}

    def about(self):
        """Rows about the run: where, by what, how long."""
        all_about = [self.measured(file).about for file in self.figures if self.measured(file).about]
        rows = []
        for key, name in (("machine", "machine"), ("build", "compiler"), ("commit", "commit")):
            values = list(dict.fromkeys(without_instruction(about[key]) for about in all_about if key in about))
            rows.append((name, "; ".join(values) or "nothing was measured"))
        rows.append(("media", "no persistent memory: flushes and fences are real and end in DRAM; what is emulated "
                     "besides stands below each plot"))
        took = sum(about.get("took_s", 0) for about in all_about)
        rows.append(("measuring took", f"{took / 60:.0f} min, {len(all_about)} of {len(self.figures)} figures"))
        return rows

    def is_quick(self):
        return any(self.measured(file).about.get("quick") for file in self.figures)

    # ---- Output ----

    def decision_table(self):
        return tables.as_markdown(self.choices())

    def write(self, folder):
        yield self.write_page(folder / "index.html")
        yield self.write_json(folder / "figures.json")

    def write_page(self, path):
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True,
                                         undefined=jinja2.StrictUndefined)
        environment.filters["marked"] = marked
        environment.tests["numeric"] = is_numeric
        text = environment.get_template("page.html.in").render(
            papers=self.judged, goals=self.goals(), scaling=self.scaling(), choices=self.choices(), beside=self.beside(),
            about=self.about(), quick=self.is_quick())
        path.write_text(text + "\n", encoding="utf-8")
        return path

    def write_json(self, path):
        """Verdicts and points, without what the page repeats."""
        shared = ("machine", "build", "commit", "figure")
        figures = {}
        for paper in self.judged:
            for figure, judged in zip(next(p for p in self.papers if p["key"] == paper["key"])["figure"],
                                      paper["figures"]):
                measured = self.measured(figure["file"])
                points = [{key: value for key, value in point.items() if key not in shared}
                          for point in measured.points + measured.unread]
                figures[figure["file"]] = {
                    "paper": paper["key"], "of": figure["of"], "about": measured.about,
                    "claims": [{"says": one.claim["says"], "status": one.status, "seen": one.text,
                                "why_not": one.why_not} for one in judged["verdicts"]],
                    "points": points}
        goals = self.goals()
        path.write_text(json.dumps({"quick": self.is_quick(), "about": dict(self.about()), "goals": goals,
                                    "figures": figures}, indent=None, ensure_ascii=False) + "\n", encoding="utf-8")
        return path
