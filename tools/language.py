"""The language rules of docs/STYLE.md that a pattern can hold; part of tools/check_text.

Three kinds of text are read:
  * pages: README.md, CONTRIBUTING.md, and the pages of PAGES below; without code and quoted text
  * comments: of include/outlast, the file's header comment and each `///`
  * literals: of include, src and apps, each string of four words or more; the arguments of the functions
    of ERROR_CALLS are error texts and have rules of their own
In a pattern a space is any white space with at most one line break, so that a wrapped line is no escape.
"""

import collections
import re

# docs/catalogue.md is made from comments, which are read themselves.
PAGES = re.compile(r"(README|CONTRIBUTING|docs/(?!catalogue)[^/]+|docs/(guides|formats|papers)/[^/]+"
                   r"|docs/results/README|bench/README)\.md")
COMMENTED = re.compile(r"include/outlast/.*\.(hpp|h)")
SPOKEN = re.compile(r"(include|src|apps)/.*\.(hpp|h|cpp)")
ERROR_CALLS = re.compile(
    r"\b(?:error|corruption|out_of_space|region_full|throw_full|fail|refuse\w*|report_corrupt\w*|runtime_error"
    r"|length_error|invalid_argument|logic_error|ValidationError|InvalidArgument|IOError|Corruption|NotSupported"
    r"|NotFound|Busy|Aborted)\(")

PEOPLE = (r"\b(?:people|persons?|users?|programmers?|authors?|developers?|contributors?|operators?|maintainers?"
          r"|administrators?|newcomers?|strangers?|you|we|I)")
SAY = r"(?:say|tell|ask|know|believe|want)"
SAYS = r"(?:says|tells|asks|knows|believes|wants)"

Rule = collections.namedtuple("Rule", "name texts pattern advice")
EVERYWHERE, COMMENTS, ERRORS = ("page", "comment", "literal", "error"), ("comment",), ("error",)


def rule(name, texts, pattern, advice):
    pattern = pattern.replace(" ", r"(?:[ \t]+|[ \t]*\n[ \t]*(?:[*-] )?)")
    return Rule(name, texts, re.compile(pattern, re.MULTILINE), advice)


RULES = [
    rule("at once", EVERYWHERE, r"\b[Aa]t once\b", "immediately, atomically, concurrently or together"),
    rule("by and by", EVERYWHERE, r"\b[Bb]y and by\b", "gradually or eventually"),
    rule("besides", EVERYWHERE, r"\b[Bb]esides\b", "also"),
    rule("as far as", EVERYWHERE, r"\b[Aa]s far as\b", "if, or a condition in its own sentence"),
    rule("for all that", EVERYWHERE, r"\b[Ff]or all that(?=[,.;:])", "nevertheless"),
    rule("but for", EVERYWHERE, r"\b[Bb]ut for\b", "except"),
    rule("goes on", EVERYWHERE, r"\b(?:go|goes|going|went|gone) on\b", "continues"),
    rule("lies in", EVERYWHERE, r"\b(?:lies|lie|lay|stands|stand|stood) (?:in|inside|beside|behind|there|between)\b",
         "is stored in, is in, contains"),
    rule("nobody", EVERYWHERE, r"\b(?:[NnSs]obody|[Nn]o one|[Ss]ome(?:body|one)|[Aa]ny(?:body|one)|[Ee]verybody)\b",
         "name the thread, the caller or the program"),
    rule("whoever", EVERYWHERE, r"\b[Ww]ho(?:m)?ever\b", "name the thread, the caller or the program"),
    rule("who", EVERYWHERE, r"(?<![\w-])(?:[Ww]ho|whom)\b(?![^.;:?|]*\?)", "a thread is it: the thread that ..."),
    rule("what", EVERYWHERE, r"(?<!#\x20)(?<!\w)What [a-z]\w*(?![^.;?|]*\?)", "name the subject with a noun"),
    rule("says", EVERYWHERE, r"(?<![\w:.-])" + SAYS + r"\b(?!\()", "a thing stores, returns, records or indicates"),
    rule("can say", EVERYWHERE,
         r"\b(?:to|must|may|can|will|would|could|cannot|not|never|nor|\w+s|which|that) " + SAY + r"\b(?!\()",
         "a thing stores, returns, records or indicates"),
    rule("is told", EVERYWHERE, r"\b(?:is|are|was|were|be|been|being|as|has|have|had) (?:not |never )?"
         r"(?:told|said|asked|believed)\b", "is reported, stated, requested or assumed"),
    rule("0.8 of", EVERYWHERE,
         r"\b0\.\d+ of (?:what|its|the|a|an|them|it|that|those|one|their)\b", "per cent, or a factor"),
    rule("fragment", COMMENTS,
         r"(?:\A|\n[\t\x20]*\n)[\t\x20]*(?:Of (?:an?|the|each|every|all|any|these|those|which)|(?:By|Over|For|From|In|To"
         r"|At|On|With|Up to) (?:what|which)|Whether|How (?:many|much|long|often|far)|As (?:above|before)"
         r"|Is told|The same(?=[.,:]| for| with| as| of)|And|Or)\b", "begin with a verb or the noun that is described"),
    rule("null", COMMENTS, r"(?:\bNull(?=:| if| where| unless| for| when| before| after)|\b[Nn]ever null\b)",
         "Returns nullptr if ...; a null pointer means ...; never returns nullptr"),
    rule("error: question", ERRORS, r"\?\Z", "state the likely cause instead"),
    rule("error: full stop", ERRORS, r"[.!]\Z", "no full stop"),
    rule("error: capital", ERRORS,
         r"\A(?!(?:Env|Options|Outlast|Linux|Debian|Status|Slice)\b)[A-Z][a-z]*(?![\w:(])", "lower case"),
]
# Subjects that may say and know things, before a match of one of these rules.
PERSONAL = {"who", "says", "can say", "is told"}
PERSON_BEFORE = re.compile(
    PEOPLE + r",?\s+(?:(?:who|must|may|can|will|would|do|does|not|never|to|want|need|only|also)\s+)*\Z", re.I)
PERSON_IN = re.compile(PEOPLE + r"\b")


def blank(found):
    """The match, with each character but line breaks replaced."""
    return re.sub(r"[^\n]", " ", found[0])


def mask(found):
    """The match as a word of the same length, which no pattern finds."""
    return re.sub(r"[^\n]", "_", found[0])


QUOTED = re.compile(r'"(?:[^"\n]|\n(?![ \t]*(?:\n|\Z)))*"|\u201c[^\u201d]*\u201d')
CODE_SPAN = re.compile(r"(`+)(?:[^`\n]|\n(?![ \t]*\n))+?\1")


def prose_of_page(text):
    text = re.sub(r"<!--.*?-->|^```.*?^```", blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*\n+)+", blank, text)
    text = re.sub(r"(?<=\]\()[^)\n]*(?=\))", mask, text)
    return QUOTED.sub(mask, CODE_SPAN.sub(mask, text))


def prose_of_comments(text):
    """The header comment and each `///`; other lines are empty."""
    lines, in_header = [], True
    for line in text.split("\n"):
        in_header = in_header and line.startswith("//")
        found = re.search(r"///<?(?!/)(.*)", line)
        if found and '"' not in line[:found.start()]:
            lines.append(" " * found.start(1) + found[1])
        else:
            lines.append("  " + line[2:] if in_header else "")
    return QUOTED.sub(mask, CODE_SPAN.sub(mask, "\n".join(lines)))


STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"(?:[^"\\\n]|\\.)*")*')
PIECE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def joined(literal):
    text = "".join(PIECE.findall(literal))
    return CODE_SPAN.sub(mask, re.sub(r'\\"(?:(?!\\").)*\\"', mask, text))


def arguments_at(text, start):
    """(offset, text) of each argument of the call whose first argument is at `start`."""
    depth, at, begin = 0, start, start
    while at < len(text):
        string = STRING.match(text, at)
        if string:
            at = string.end()
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif text[at] == "," and depth == 0:
            yield begin, text[begin:at]
            begin = at + 1
        at += 1
    yield begin, text[begin:at]


def error_literals(text):
    """(offset, words, is first, is last) of each literal in an error text."""
    for call in ERROR_CALLS.finditer(text):
        for begin, argument in arguments_at(text, call.end()):
            pieces = list(STRING.finditer(argument))
            for piece in pieces:
                words = joined(piece[0])
                if not words.strip():
                    continue
                first = not argument[:piece.start()].strip() or re.fullmatch(r"\s*std::string\(\s*",
                                                                          argument[:piece.start()])
                last = not argument[piece.end():].strip(" \n)")
                yield begin + piece.start(), words, bool(first), last


def without_comments(text):
    return re.sub(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*', lambda m: m[1] or " " * len(m[0]), text)


def permitted(text, rule_, found):
    if rule_.name not in PERSONAL:
        return False
    return bool(PERSON_BEFORE.search(text, 0, found.start()) or PERSON_IN.match(found[0]))


def matches(text, kind):
    for each in RULES:
        if kind in each.texts:
            for found in each.pattern.finditer(text):
                if not permitted(text, each, found):
                    yield found.start() + len(found[0]) - len(found[0].lstrip()), each, found[0]


def report(text, offset, each, words):
    line = text.count("\n", 0, offset) + 1
    return line, f'{each.name}: "{" ".join(words.split())}": {each.advice} (docs/STYLE.md)'


def findings_of_literals(text):
    code = without_comments(text)
    lines = text.split("\n")
    for literal in STRING.finditer(code):
        words = joined(literal[0])
        if len(words.split()) >= 4:
            for _, each, found in matches(words, "literal"):
                yield report(text, literal.start(), each, found)
    for offset, words, first, last in error_literals(code):
        line = lines[text.count("\n", 0, offset)]
        if "as in LevelDB" in line or "as in RocksDB" in line:
            continue
        for each in RULES:
            found = each.pattern.search(words) if each.texts == ERRORS else None
            if found and (first if each.name == "error: capital" else last):
                yield report(text, offset, each, words if len(words) < 60 else words[-60:])


def is_read(name):
    return bool(PAGES.fullmatch(name) or COMMENTED.fullmatch(name) or SPOKEN.fullmatch(name))


def findings(name, text):
    """(line number, sentence) of each breach in the file `name`, in the order of lines."""
    found = []
    if PAGES.fullmatch(name):
        prose = prose_of_page(text)
        found += [report(prose, *each) for each in matches(prose, "page")]
    if COMMENTED.fullmatch(name):
        prose = prose_of_comments(text)
        found += [report(prose, *each) for each in matches(prose, "comment")]
    if SPOKEN.fullmatch(name):
        found += findings_of_literals(text)
    return sorted(found)


class Debt:
    """tools/language_debt: how many findings each file still has."""

    NAME = "tools/language_debt"

    def __init__(self, root):
        self.path = root / self.NAME
        self.recorded, self.unreadable = {}, 0
        for line in self.path.read_text().splitlines() if self.path.is_file() else ():
            found = re.fullmatch(r"(\S+) ([1-9]\d*)", line)
            if found:
                self.recorded[found[1]] = int(found[2])
            else:
                self.unreadable += 1

    def faults(self, found):
        """Of `found`, a list of findings for each file, the files that have more or fewer than recorded."""
        for name in sorted(found):
            recorded, now = self.recorded.get(name, 0), len(found[name])
            if now > recorded:
                yield from (f"{name}:{line}: {sentence}" for line, sentence in found[name])
                yield f"{name}: {now} breaches of docs/STYLE.md, {recorded} are recorded in {self.NAME}"
        for name, recorded in sorted(self.recorded.items()):
            now = len(found.get(name, ()))
            if now < recorded:
                yield f"{name}: {now} breaches of docs/STYLE.md, not {recorded}: run tools/check_text --lower-debt"
        if list(self.recorded) != sorted(self.recorded) or self.unreadable:
            yield f"{self.NAME}: not sorted, or not of lines `path number`: run tools/check_text --lower-debt"

    def lower(self, found):
        """Writes the file, and returns the reasons if it may not: no number rises, but the numbers of files that
        are gone, renamed for example, pass to files that are new. A file that is missing is written anew."""
        now = {name: len(each) for name, each in sorted(found.items()) if each}
        known = set(found)
        inherited = sum(number for name, number in self.recorded.items() if name not in known)
        more = {name: number for name, number in now.items() if number > self.recorded.get(name, 0)}
        new = sum(number for name, number in more.items() if name not in self.recorded)
        risen = [name for name in more if name in self.recorded]
        if self.path.is_file() and (risen or new > inherited):
            return [f"{name}: {number} breaches of docs/STYLE.md, more than recorded" for name, number in more.items()]
        self.path.write_text("".join(f"{name} {number}\n" for name, number in now.items()))
        return []
