"""The preparer's own prompt texts, read as data from its source file and never run.

Some prompts are a source's text inside instructions that only NVIDIA's preparer states. They are taken from that file
(Apache-2.0), at a pinned commit, so that the prompts are the same word for word.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "12d434e0775ee7bb244e705943324f06f7cbf007"
ADDRESS = (
    f"https://raw.githubusercontent.com/NVIDIA/Model-Optimizer/{COMMIT}"
    "/examples/specdec_bench/specdec_bench/datasets/speed.py"
)


class Wording:
    """Texts that a Python file assigns to names inside its functions."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError) as fault:
            raise SuiteError(f"{path} cannot be read as Python ({fault}); delete it and fetch again") from fault
        self._functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    def text(self, function: str, name: str, index: int = 0) -> str:
        """Return the text of an assignment to `name`, of `index` in the order of the function.

        What is put into a text while it is made stands as `{name}` (an f-string's variable) or `{}` (anything else).
        Raises `SuiteError` where there is none.
        """
        texts = self._texts(function, name)
        if index >= len(texts):
            raise self._lacks(f"text {index + 1} of {name} in {function}")
        return texts[index]

    def all(self, function: str, name: str) -> str:
        """Return all texts that are assigned or added to `name`, joined; raise `SuiteError` where there is none."""
        texts = self._texts(function, name)
        if not texts:
            raise self._lacks(f"{name} in {function}")
        return "".join(texts)

    def default(self, function: str, name: str) -> str:
        """Return the text that is a parameter's default; raise `SuiteError` where there is none."""
        node = self._functions.get(function)
        if node is not None:
            arguments = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for argument, value in zip(arguments, node.args.defaults, strict=True):
                if argument.arg == name and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return value.value
        raise self._lacks(f"the default of {name} in {function}")

    def _texts(self, function: str, name: str) -> list[str]:
        node = self._functions.get(function)
        if node is None:
            return []
        found: list[tuple[int, str]] = []
        for inner in ast.walk(node):
            targets = inner.targets if isinstance(inner, ast.Assign) else []
            if isinstance(inner, ast.AugAssign):
                targets = [inner.target]
            if not isinstance(inner, ast.Assign | ast.AugAssign):
                continue
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                text = _template(inner.value)
                if text.replace("{}", "").strip():
                    found.append((inner.lineno, text))
        return [text for _, text in sorted(found)]

    def _lacks(self, what: str) -> SuiteError:
        return SuiteError(
            f"{self._path} has not {what}: it is not the file of commit {COMMIT[:12]}; delete it and fetch again"
        )


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_template, node.values))
    if isinstance(node, ast.FormattedValue):
        return f"{{{node.value.id}}}" if isinstance(node.value, ast.Name) else "{}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return "{}"
