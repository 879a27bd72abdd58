"""Goal: the checkers can fail. Method: a small good tree, and one fault at a time seeded into it."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOOLS))
import language  # noqa: E402

TABLE = """
| layer | stands on | what it is |
|---|---|---|
| `base` | | bottom |
| `hw` | `base` | instructions |
| `left` | `hw` | a brother |
| `right` | `hw` | his brother |
"""

GOOD_TREE = {
    "include/outlast/README.md": TABLE,
    "include/outlast/base/a.hpp": "#include <cstdint>\n",
    "include/outlast/base/headers.cmake": "outlast_headers(outlast_library base\n  a.hpp\n)\n",
    "include/outlast/hw/b.hpp": "#include <outlast/base/a.hpp>\n#include <immintrin.h>\n",
    "include/outlast/hw/headers.cmake": "outlast_headers(outlast_library hw\n  b.hpp\n)\n",
    "include/outlast/left/c.hpp": "#include <outlast/base/a.hpp>\n#include <outlast/hw/b.hpp>\n",
    "include/outlast/left/headers.cmake": "outlast_headers(outlast_library left\n  c.hpp\n)\n",
    "src/right/d.cpp": "#include <outlast/right.hpp>\n#include <src/right/inner.hpp>\n",
    "src/right/sources.cmake": "outlast_sources(outlast_library right\n  d.cpp\n)\n",
}

UNFINISHED = "TO" + "DO"

GOOD_ORDERINGS = """
// (1) acquire-load; synchronizes-with (2)
x.load();
// (2) release-CAS; synchronizes-with (1).  (P1) persisted-before (P2): the node precedes its link.
y.cas();  // (P2) the link
"""


def run(tool, *arguments):
    answer = subprocess.run([sys.executable, TOOLS / tool, *arguments], capture_output=True, text=True,
                            check=False)
    return answer.returncode, answer.stdout + answer.stderr


class Seeded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in GOOD_TREE.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, tool, fault, *arguments):
        status, output = run(tool, *(arguments or [str(self.root)]))
        self.assertEqual(status, 0 if fault is None else 1, output)
        if fault is not None:
            self.assertIn(fault, output)


class Layers(Seeded):
    def seed(self, name, include, fault):
        self.write(name, f"#include {include}\n")
        self.expect("check_layers", fault)

    def test_the_good_tree_passes(self):
        self.expect("check_layers", None)

    def test_an_upward_edge_fails(self):
        self.seed("include/outlast/base/a.hpp", "<outlast/hw/b.hpp>", "does not stand on `hw`")

    def test_a_sideways_edge_fails(self):
        self.seed("src/right/d.cpp", "<outlast/left/c.hpp>", "does not stand on `left`")

    def test_an_upward_edge_to_a_gathering_header_fails(self):
        self.seed("src/hw/e.cpp", "<outlast/left.hpp>", "does not stand on `left`")

    def test_an_edge_hidden_by_spaces_fails(self):
        self.write("include/outlast/base/a.hpp", "  #  include  <outlast/right/d.hpp>\n")
        self.expect("check_layers", "does not stand on `right`")

    def test_a_folder_without_a_row_fails(self):
        self.seed("include/outlast/stray/f.hpp", "<cstdint>", "in no row")

    def test_a_header_that_includes_sources_fails(self):
        self.seed("include/outlast/right/g.hpp", "<src/right/inner.hpp>", "not installed")

    def test_a_relative_path_fails(self):
        self.seed("include/outlast/hw/b.hpp", '"../base/a.hpp"', "in full")

    def test_a_relative_path_of_compat_is_followed(self):
        self.write("include/outlast/README.md", TABLE + "| `db` | `base` | x |\n| `compat` | `db` | x |\n")
        self.write("include/outlast/compat/x/e.h", '#include "../../db/f.hpp"\n')
        self.expect("check_layers", None)
        self.seed("include/outlast/compat/x/e.h", '"../../hw/b.hpp"', "does not stand on `hw`")

    def test_an_inner_header_of_another_layer_fails(self):
        self.seed("include/outlast/left/c.hpp", "<outlast/hw/detail/b.hpp>", "inner header of `hw`")
        self.seed("src/hw/e.cpp", "<outlast/base/impl/a.hpp>", "inner header of `base`")

    def test_a_layers_own_inner_header_passes(self):
        self.write("include/outlast/hw/b.hpp", "#include <outlast/hw/detail/c.hpp>\n")
        self.expect("check_layers", None)

    def test_instructions_outside_hw_fail(self):
        self.seed("include/outlast/left/c.hpp", "<immintrin.h>", "only hw includes")

    def test_a_table_in_the_wrong_order_fails(self):
        self.write("include/outlast/README.md", "| `hw` | `base` | x |\n| `base` | | y |\n")
        self.expect("check_layers", "no row above it")


class Walks(Seeded):
    WALK = """
# A walk
## The files, in order
The walk opens 3 files.
1. [`left/c.hpp`](../../include/outlast/left/c.hpp), `put`: Does it.
2. [`hw/b.hpp`](../../include/outlast/hw/b.hpp), `flush`:
   Flushes it.
3. [`base/a.hpp`](../../include/outlast/base/a.hpp), `a`: Is last.
## After a crash
1. A step that is no file.
"""

    def setUp(self):
        super().setUp()
        self.write("include/outlast/left/c.hpp", "#include <outlast/hw/b.hpp>\nvoid put();\n")
        self.write("include/outlast/hw/b.hpp", "#include <outlast/base/a.hpp>\nvoid flush();\n")
        self.write("include/outlast/base/a.hpp", "int a;\n")

    def seed(self, old, new, fault):
        self.assertIn(old, self.WALK)
        self.write("docs/walks/one.md", self.WALK.replace(old, new))
        self.expect("check_walks", fault)

    def test_a_walk_in_call_order_passes(self):
        self.seed("", "", None)

    def test_no_walk_fails(self):
        self.expect("check_walks", "has no page")

    def test_a_walk_without_its_number_fails(self):
        self.seed("The walk opens 3 files.", "", "has no sentence")

    def test_a_list_of_another_length_fails(self):
        self.seed("3 files", "2 files", "states 2 files and lists 3")

    def test_a_file_that_does_not_exist_fails(self):
        self.seed("outlast/hw/b.hpp", "outlast/hw/gone.hpp", "does not exist")

    def test_a_file_outside_of_include_fails(self):
        self.seed("../../include/outlast/hw/b.hpp", "one.md", "does not exist")

    def test_a_name_that_is_not_the_file_fails(self):
        self.seed("`hw/b.hpp`", "`hw/c.hpp`", "is not that of the linked file")

    def test_a_file_that_no_earlier_one_includes_fails(self):
        self.write("include/outlast/hw/b.hpp", "void flush();\n")
        self.seed("", "", "no file listed before includes base/a.hpp")

    def test_files_in_another_order_fail(self):
        swapped = self.WALK.replace("hw/b.hpp", "X").replace("base/a.hpp", "hw/b.hpp").replace("X", "base/a.hpp")
        self.write("docs/walks/one.md", swapped.replace("`flush`", "`int`").replace("`a`", "`flush`"))
        self.expect("check_walks", "no file listed before includes base/a.hpp")

    def test_a_function_that_is_gone_fails(self):
        self.seed("`flush`", "`pwb`", "hw/b.hpp has no pwb")

    def test_an_item_without_a_sentence_fails(self):
        self.seed("`a`: Is last.", "`a`", "is not of the form")

    def test_a_file_listed_twice_fails(self):
        again = "3. [`hw/b.hpp`](../../include/outlast/hw/b.hpp), `flush`: Again."
        self.seed("3. [`base/a.hpp`](../../include/outlast/base/a.hpp), `a`: Is last.", again, "listed twice")


class Pairs(Seeded):
    def seed(self, text, fault):
        self.write("orderings.hpp", text)
        self.expect("check_pairs", fault, str(self.root / "orderings.hpp"))

    def test_good_orderings_pass(self):
        self.seed(GOOD_ORDERINGS, None)

    def test_a_missing_partner_fails(self):
        self.seed("// (1) release; synchronizes-with (7)\n", "no ordering (7)")

    def test_one_missing_partner_among_several_fails(self):
        self.seed(GOOD_ORDERINGS.replace("with (1)", "with (1, 5)"), "no ordering (5)")

    def test_a_one_sided_pair_fails(self):
        self.seed("// (1) acquire; synchronizes-with (2)\nx();\n// (2) release-store\n",
                  "does not name (1) in return")

    def test_a_missing_persistence_partner_fails(self):
        self.seed("// (P3) persisted-before (P5): the node precedes its link\n", "no ordering (P5)")

    def test_mixed_kinds_fail(self):
        self.seed("// (P3) persisted-before (5)\nx();\n// (5) the link\n", "plain numbers")

    def test_a_number_used_twice_fails(self):
        self.seed(GOOD_ORDERINGS + "\nz();\n// (1) another load\n", "named again")

    def test_a_reference_from_an_unnumbered_comment_fails(self):
        self.seed("// this load synchronizes-with (1)\nx();\n// (1) release\n", "has no number")

    def test_a_reference_broken_over_two_lines_is_read(self):
        self.seed("// (1) release-store; synchronizes-with\n// (8)\n", "no ordering (8)")


class Text(Seeded):
    def seed(self, name, text, fault):
        self.write(name, text)
        self.expect("check_text", fault)

    def test_the_good_tree_passes(self):
        self.expect("check_text", None)

    def test_unfinished_work_fails(self):
        self.seed("docs/a.md", f"{UNFINISHED}: write this\n", "unfinished work")

    def test_a_machine_path_fails(self):
        self.seed("docs/a.md", "see /" + "work/notes/x\n", "somebody's machine")

    def test_a_long_line_fails(self):
        self.seed("include/outlast/base/a.hpp", "//" + 99 * "x" + "\n", "101 columns")

    def test_a_long_file_fails(self):
        self.seed("include/outlast/base/a.hpp", 701 * "int x;\n", "701 lines")

    def test_a_long_function_fails(self):
        body = "int f(int x) {\n" + 70 * "  ++x;\n" + "  return x;\n}\n"
        self.seed("include/outlast/base/a.hpp", body, "a function of 73 lines")

    def test_a_raw_thread_local_fails(self):
        self.seed("src/right/d.cpp", "thread_local int x;\n", "thread_local")

    def test_a_dead_link_fails(self):
        self.seed("docs/a.md", "[there](nowhere.md)\n", "leads nowhere")

    def test_a_forgotten_source_fails(self):
        self.seed("src/right/forgotten.cpp", "int x;\n", "in no list")

    def test_a_forgotten_header_fails(self):
        self.seed("include/outlast/base/forgotten.hpp", "inline int x;\n", "in no list")


class Comparison(Seeded):
    """The comparison of stores, in a copy of the pages of this project."""

    PAGES = ["README.md", "docs/results/README.md", "docs/guides/store.md", "docs/images/store.svg"]

    def setUp(self):
        super().setUp()
        for name in [*self.PAGES, "docs/results/figures.json"]:
            self.write(name, (TOOLS.parent / name).read_text())

    def text(self, name):
        return (self.root / name).read_text()

    def compare(self, fault):
        self.expect("make_comparison", fault, "--check", str(self.root))

    def shown(self):
        """A value that all pages and the picture have, and another one."""
        value = re.search(r"reads during writes, 2 threads \| \**([\d,]+)", self.text("README.md")).group(1)
        return value, ("8" if value[0] == "9" else "9") + value[1:]

    def test_the_pages_as_they_are_pass(self):
        self.compare(None)

    def test_a_changed_digit_of_a_page_or_the_picture_fails(self):
        for name in self.PAGES:
            with self.subTest(name):
                good = self.text(name)
                self.assertIn(self.shown()[0], good)
                self.write(name, good.replace(*self.shown(), 1))
                self.compare(f"{name}: differs")
                self.write(name, good)

    def test_new_figures_make_every_page_and_the_picture_stale(self):
        figures = json.loads(self.text("docs/results/figures.json"))
        for point in figures["figures"]["universal-constructions/fig07"]["points"]:
            point["value"] *= 2
        self.write("docs/results/figures.json", json.dumps(figures))
        for name in self.PAGES:
            self.compare(f"{name}: differs")

    def test_a_page_without_markers_fails(self):
        self.write("README.md", self.text("README.md").replace("<!-- end of comparison -->", ""))
        self.compare("README.md: the markers of the comparison are missing")

    def test_missing_figures_fail(self):
        self.write("docs/results/figures.json", self.text("docs/results/figures.json").replace("tmpfs, readseq", "none"))
        self.compare("has 0 points named 'tmpfs, readseq, 1 thread: outlast, records'")

    def test_a_stale_page_is_written_anew(self):
        good = self.text("README.md")
        self.write("README.md", good.replace(*self.shown()))
        self.expect("make_comparison", None, str(self.root))
        self.assertEqual(self.text("README.md"), good)
        self.compare(None)
# One sentence for each language rule, named as the rule is: in a page, in a comment or in an error text.
BAD_PAGES = {
    "at once": "Several threads write at once.",
    "by and by": "The log is emptied by and by.",
    "besides": "Besides, the line is flushed.",
    "as far as": "Writes are durable as far as the disk permits.",
    "for all that": "For all that, the copy is stale.",
    "but for": "Everything survives but for the last write.",
    "goes on": "The walk goes on at the next node.",
    "lies in": "The value lies in the leaf.",
    "nobody": "Nobody waits for the fence.",
    "whoever": "Whoever unlinks the node retires it.",
    "who": "Who links a node flushes it.",
    "what": "What is retired is reused later.",
    "says": "The word says which replica counts.",
    "can say": "Threads know the epoch.",
    "is told": "The caller is told the size.",
    "0.8 of": "The table keeps 0.8 of its speed.",
}
BAD_COMMENTS = {
    "fragment": "/// Of a pool that was closed.\nint x;",
    "null": "/// Null: the key is absent.\nint x;",
}
BAD_ERRORS = {
    "error: question": 'throw error(errc::bad, path, "the block was freed twice?");',
    "error: full stop": 'throw error(errc::bad, path, "the block has " + number + " bytes.");',
    "error: capital": 'return Status::IOError(path, "Too few bytes");',
}
GOOD_PAGE = """# What a pool is

A thread that reads the link flushes it. You want to know when the page is free, and a programmer who asks reads on.
The tool prints "nobody knows what lies in the file at once"; `ask` is an identifier, and so is `store::tells`.
Behind the header are the roots. But forty pages follow, and 0.8 of 1.0 is 80 %. Who decides this?

    $ outlast inspect pool    # says what lies in the file at once

```
nobody knows
```
"""
GOOD_HEADER = """// A list whose nodes are durable.
#include <cstdint>
// What is not public is not read: nobody knows.
/// Returns the first node, or nullptr if the list is empty. `who` is the thread's number.
int x;  ///< of the first node
inline const char* y = "at once";
"""
GOOD_SOURCE = """
throw error(errc::bad, path, "Options::env must not be null");
throw error(errc::bad, path, "cannot open '" + name + "'; remove it");
return Status::IOError("Offset greater than file size.");  // as in LevelDB
"""


class Language(Seeded):
    def seed(self, name, text, fault):
        self.write(name, text)
        self.expect("check_text", fault)

    def test_each_rule_fails_on_its_sentence(self):
        seeds = [("docs/a.md", BAD_PAGES), ("include/outlast/base/a.hpp", BAD_COMMENTS), ("src/right/d.cpp", BAD_ERRORS)]
        for file, sentences in seeds:
            good = self.root / file
            good = good.read_text() if good.exists() else ""
            for rule, sentence in sentences.items():
                with self.subTest(rule):
                    self.seed(file, sentence + "\n", f'{file}:1: {rule}: "')
                    self.seed(file, good, None)

    def test_each_rule_has_a_sentence(self):
        self.assertEqual([rule.name for rule in language.RULES], [*BAD_PAGES, *BAD_COMMENTS, *BAD_ERRORS])

    def test_rules_of_pages_hold_in_comments_and_literals(self):
        for rule, sentence in BAD_PAGES.items():
            with self.subTest(rule):
                self.seed("include/outlast/base/a.hpp", f"// {sentence}\n", f'a.hpp:1: {rule}: "')
                self.seed("include/outlast/base/a.hpp", f"#pragma once\n/// {sentence}\n", f'a.hpp:2: {rule}: "')
                self.seed("include/outlast/base/a.hpp", "\n", None)
                self.seed("src/right/d.cpp", f'add(severity::note, name + "{sentence}");\n', f'd.cpp:1: {rule}: "')
                self.seed("src/right/d.cpp", "\n", None)

    def test_good_sentences_pass(self):
        self.seed("docs/a.md", GOOD_PAGE, None)
        self.seed("include/outlast/base/a.hpp", GOOD_HEADER, None)
        self.seed("src/right/d.cpp", GOOD_SOURCE, None)

    def test_a_wrapped_sentence_is_read(self):
        self.seed("docs/a.md", "Several threads write at\nonce.\n", 'docs/a.md:1: at once: "at once"')
        self.seed("docs/a.md", "Several threads look at\n\nonce more.\n", None)

    def test_pages_of_history_are_not_read(self):
        self.seed("docs/decisions/a.md", "Nobody waits at once.\n", None)

    def test_recorded_debt_is_granted_and_no_more(self):
        self.write("docs/a.md", "Nobody waits.\n")
        self.seed("tools/language_debt", "docs/a.md 1\n", None)
        self.seed("docs/a.md", "Nobody waits. Nobody writes.\n", "docs/a.md: 2 breaches of docs/STYLE.md, 1 are recorded")

    def test_debt_that_was_paid_is_lowered(self):
        self.write("docs/a.md", "Nobody waits.\n")
        self.seed("tools/language_debt", "docs/a.md 2\ndocs/gone.md 1\n", "docs/a.md: 1 breaches of docs/STYLE.md, not 2")
        self.expect("check_text", None, "--lower-debt", str(self.root))
        self.assertEqual((self.root / "tools/language_debt").read_text(), "docs/a.md 1\n")
        self.expect("check_text", None)

    def test_debt_does_not_rise(self):
        self.write("docs/a.md", "Nobody waits. Nobody writes.\n")
        self.write("tools/language_debt", "docs/a.md 1\ndocs/gone.md 9\n")
        self.expect("check_text", "more than recorded", "--lower-debt", str(self.root))
        self.assertEqual((self.root / "tools/language_debt").read_text(), "docs/a.md 1\ndocs/gone.md 9\n")

    def test_a_renamed_file_takes_its_debt_along(self):
        self.write("docs/new.md", "Nobody waits. Nobody writes.\n")
        self.write("tools/language_debt", "docs/old.md 1\n")
        self.expect("check_text", "more than recorded", "--lower-debt", str(self.root))
        self.write("tools/language_debt", "docs/old.md 2\n")
        self.expect("check_text", None, "--lower-debt", str(self.root))
        self.assertEqual((self.root / "tools/language_debt").read_text(), "docs/new.md 2\n")

    def test_debt_with_a_conflict_is_found(self):
        self.seed("tools/language_debt", "<<<<<<< ours\n", "not sorted")


class Site(Seeded):
    def setUp(self):
        super().setUp()
        self.write("index.html", '<a href="sub/b.html#there">b</a> <img src="a.svg"> <a href="https://x.org">x</a>')
        self.write("sub/b.html", '<h2 id="there">b</h2> <a href="../index.html">a</a> <a href="#there">up</a>')
        self.write("a.svg", "<svg/>")

    def test_links_to_files_and_places_hold(self):
        self.expect("check_site", None)

    def test_a_missing_page_fails(self):
        (self.root / "sub/b.html").unlink()
        self.expect("check_site", "index.html:1: sub/b.html#there leads nowhere")

    def test_a_missing_picture_fails(self):
        (self.root / "a.svg").unlink()
        self.expect("check_site", "a.svg leads nowhere")

    def test_a_missing_place_fails(self):
        self.write("sub/b.html", "<h2>b</h2>")
        self.expect("check_site", "no such place")

    def test_no_page_at_all_fails(self):
        for name in ("index.html", "sub/b.html"):
            (self.root / name).unlink()
        self.expect("check_site", "0 pages")


if __name__ == "__main__":
    unittest.main()
