"""Chat templates as transformers renders them, without importing it: the same sandbox, filters and functions.

Written after `transformers.utils.chat_template_utils` of 5.19; tests hold the two against each other. But the date that
a template writes is always `DATE`, by whichever of the two it is rendered: Llama 3.2, gpt-oss and others write today's,
with which no prompt would be the same tomorrow.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.parser import Parser


DATE = datetime(2025, 1, 1, tzinfo=UTC)
"""What templates are told that today is."""


class _Generation(Extension):
    """`{% generation %}`, which marks the model's answers for training: its body is rendered like any text."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the body as the call of a block, a scope of its own as transformers has it."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_rendered"), [], [], body).set_lineno(line)

    def _rendered(self, caller: Any) -> str:
        return str(caller())


def compile_template(text: str) -> Template:
    """Return a template that is rendered with `messages`, `tools`, `documents`, `add_generation_prompt` and tokens."""
    return _environment().from_string(text)


def template_texts(template: Any) -> list[str]:
    """Return the templates that conversations may be rendered with.

    Of several named ones these are `default` and, where there are tools, `tool_use`; all, if none of them is there.

    Args:
        template: As tokenizers hold it: a text, several by name, or null.
    """
    if isinstance(template, list):
        template = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}
    if isinstance(template, dict):
        named = [template[name] for name in ("default", "tool_use") if name in template] or list(template.values())
        return [text for text in named if isinstance(text, str)]
    return [template] if isinstance(template, str) and template else []


def template_variables(template: Any) -> set[str]:
    """Return the names that a template reads from what it is rendered with; none of a text that is no template.

    A name that it sets before it first reads it is a variable of its own.

    Args:
        template: As tokenizers hold it.
    """
    found = set[str]()
    for text in template_texts(template):
        read = set[str]()
        try:
            tree = _environment().parse(text)
            _note_reads(tree, set(), read)
            found |= read & meta.find_undeclared_variables(tree)
        except (TemplateSyntaxError, RecursionError):  # rendering says so
            continue
    return found


def _note_reads(node: nodes.Node, own: set[str], read: set[str]) -> None:
    """Add to `read` what is read below a node, and to `own` what is set there, in the order of rendering."""
    if isinstance(node, nodes.Name):
        if node.ctx != "load":
            own.add(node.name)
        elif node.name not in own:
            read.add(node.name)
        return
    if isinstance(node, nodes.Macro | nodes.CallBlock):
        own = own | {argument.name for argument in node.args}
    first: list[Any] = []
    then: list[Any] = []
    for name, child in node.iter_fields():
        later = isinstance(node, nodes.Assign | nodes.AssignBlock | nodes.For) and name == "target"
        later = later or (isinstance(node, nodes.For) and name in ("body", "else_", "test"))
        (then if later else first).extend(child if isinstance(child, list) else [child])
    for inner in (*first, *then):
        if isinstance(inner, nodes.Node):
            _note_reads(inner, own, read)


def strftime_now(form: str) -> str:
    """Return `DATE` in a form of `strftime`, by the name that templates call."""
    return DATE.strftime(form)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = strftime_now
    return environment


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)
