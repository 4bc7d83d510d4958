"""No function starts processes that nobody asked for."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "llm_dojo_scoring"


def test_one_process_is_what_every_function_takes_unless_told_otherwise():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                last = node.args.args[len(node.args.args) - len(node.args.defaults) :]
                for arg, default in [*named, *zip(last, node.args.defaults, strict=True)]:
                    if arg.arg == "jobs" and default is not None:
                        found[path.stem, node.name] = ast.unparse(default)
    assert len(found) > 10 and set(found.values()) == {"1"}
