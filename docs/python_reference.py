"""Makes docs/python-reference.md of the docstrings of python/package/ztrack, without importing it.

    python3 docs/python_reference.py > docs/python-reference.md
"""

import ast
import re
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "python/package/ztrack"
#: Titles, and what is under them; a test holds them against the names of the package.
SECTIONS = {
    "Models in training": ["Tracker", "Evaluation", "Engine", "watch", "Watched", "lightning_callback", "EarlyStopping", "RBM"],
    "Models that are given": ["log_partition", "log_likelihood", "log_f", "sample", "complete", "Model"],
    "What they return": ["LogPartition", "Estimate", "LogLikelihood", "Trust", "Completion"],
    "Other packages": [
        "from_sklearn", "to_sklearn", "from_torch", "to_torch", "from_rbms", "to_rbms", "rbms_updates", "write_rbms_log_z",
        "from_plus_minus", "to_plus_minus", "to_arviz",
    ],
    "Runs of the command": ["load_run", "Run"],
    "Exceptions": [
        "ZtrackError", "InvalidError", "TooLargeError", "DivergedError", "NotMixedError", "ConfigError", "FileError", "IoError",
        "Interrupted", "InternalError", "MissingPackageError",
    ],
}  # fmt: skip


def markdown(text: str) -> str:
    """A docstring, with headings of numpydoc as bold words and its entries as lists."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text).replace("``", "`")
    lines, out, entries, quoted = text.split("\n"), [], False, False
    for i, line in enumerate(lines):
        under = lines[i + 1] if i + 1 < len(lines) else ""
        if quoted and line and not line.startswith("    "):
            out[:] = "\n".join(out).rstrip().split("\n") + ["```\n"]
            quoted = False
        if line and re.fullmatch(r"-{3,}", under):
            out.append(f"**{line}**\n")
            entries = True
        elif re.fullmatch(r"-{3,}", line):
            continue
        elif line.rstrip().endswith("::"):
            out.append(line.rstrip()[:-2].rstrip() + (":" if line.strip() != "::" else "") + "\n\n```python")
            quoted = True
        elif quoted:
            out.append(line[4:])
        elif entries and re.match(r"[\w, ]+ : ", line) or re.fullmatch(r"[\w, ]+", line) and under.startswith("    "):
            name, colon, kind = line.partition(" : ")
            out.append(f"- `{name}`" + (f" ({kind})" if colon else "") + (":" if under.startswith(" ") else ""))
        else:
            entries = entries and (line.startswith(" ") or not line)
            out.append("  " + line.strip() if entries and line else line)
    text = "\n".join(out).rstrip() + ("\n```" if quoted else "")
    return re.sub(r"\n{3,}", "\n\n", text).replace("```python\n\n", "```python\n")


def signature(function: ast.FunctionDef, name: str, bound: bool) -> str:
    arguments = ast.parse(ast.unparse(function)).body[0].args
    first = arguments.posonlyargs or arguments.args
    if bound and first:
        del first[0]
    for each in [*arguments.args, *arguments.kwonlyargs, *filter(None, [arguments.vararg, arguments.kwarg])]:
        each.annotation = None
    return f"{name}({ast.unparse(arguments)})"


def code(text: str) -> str:
    return f"```python\n{textwrap.fill(text, 88, subsequent_indent='    ', break_long_words=False)}\n```\n\n"


def decorated(node: ast.AST, name: str) -> bool:
    return any(name in ast.unparse(each) for each in node.decorator_list)


def of_class(node: ast.ClassDef, source: list[str]):
    """Fields with their `#:` comments, then methods and properties with docstrings."""
    fields = []
    for each in node.body:
        comment = []
        for line in reversed(source[: each.lineno - 1]):
            if not line.strip().startswith("#:"):
                break
            comment.insert(0, line.strip()[2:].strip())
        if isinstance(each, ast.AnnAssign) and comment and not each.target.id.startswith("_"):
            fields.append(f"- `{each.target.id}`: {markdown(' '.join(comment))}")
    if fields:
        yield "\n".join(fields)
    for each in node.body:
        text = ast.get_docstring(each) if isinstance(each, ast.FunctionDef) else None
        if not text or each.name.startswith("_"):
            continue
        is_property = decorated(each, "property")
        shown = "" if is_property else code(signature(each, each.name, not decorated(each, "staticmethod")))
        yield f"#### `.{each.name}`\n\n{shown}{markdown(text)}"


def main() -> None:
    found = {}
    for path in sorted(PACKAGE.glob("*.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[node.name] = (node, text.split("\n"))
    print("# Python reference\n\nMade of the docstrings by [python_reference.py](python_reference.py). [python.md](python.md) shows how the parts are used.\n")
    for title, names in SECTIONS.items():
        print(f"## {title}\n")
        for name in names:
            node, source = found[name]
            start, parts = node, []
            if isinstance(node, ast.ClassDef):
                start = next((each for each in node.body if getattr(each, "name", "") == "__init__"), None)
                parts = list(of_class(node, source))
            # `watch` makes what is called Watched.
            shown = code(signature(start, name, start is not node)) if start and name != "Watched" else ""
            print("\n\n".join([f"### `{name}`", shown + markdown(ast.get_docstring(node)), *parts]) + "\n")


if __name__ == "__main__":
    main()
