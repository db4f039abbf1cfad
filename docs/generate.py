"""Write docs/reference and the page's types from the code: ``python docs/generate.py``.

With ``--check`` only say whether they are fresh.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import forklore
from forklore import texts
from forklore.app.folder import FOLDER_REPAIRS
from forklore.app.fork import ForkBlocked
from forklore.app.repair import OF_THEIR_OWN
from forklore.checks.folder import FOLDER_FINDINGS
from forklore.checks.requirements import REQUIREMENTS, Effect, Requirement
from forklore.checks.verify import ON_REQUEST, OPENING
from forklore.cli.command import EXIT_BUG, EXIT_CODES, EXIT_INTERRUPTED, Command
from forklore.cli.main import SECTIONS, program
from forklore.disk.state import State
from forklore.disk.workspace import ChatNotFound
from forklore.errors import ForkloreError, Kind
from forklore.model.names import NameTemplates
from forklore.planning.repairing import REPAIRS
from forklore.texts.template import Template, parse
from forklore.web.access import Access
from forklore.web.application import routes
from forklore.web.schema import TYPES, Shape, completed
from forklore.web.service import Service

REFERENCE = Path(__file__).parent / "reference"
SOURCE = Path(forklore.__file__).parent
PAGE_TYPES = SOURCE / "web" / "page" / "js" / "types.js"
NOTE = "<!-- Written by docs/generate.py: change the code and run `make docs`. -->"

MEANINGS = {
    Kind.INVALID: "the request makes no sense",
    Kind.BLOCKED: "the story breaks a requirement; also a wait that ran out",
    Kind.NOT_FOUND: "no such folder, chat or operation",
    Kind.CONFLICT: "it changed meanwhile, it is taken, or it cannot be written",
    Kind.BUSY: "somebody else is changing the workspace",
    Kind.DAMAGED: "a file cannot be read as what it should be",
}
_OPENING_CASES = {"LINK_OUTSIDE": "lorebook", "FORMAT_NEWER": "timeline"}
WORDS = {Effect.BLOCK: "blocks", Effect.WARN: "warns", Effect.NOTE: "is noted", Effect.IGNORE: "is ignored"}


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    written = {
        "cli.md": _cli(),
        "errors.md": _errors(),
        "findings.md": _findings(),
        "settings.md": _settings(),
        "rest.md": _rest(),
    }
    return {name: "\n".join([NOTE, "", *lines]).rstrip() + "\n" for name, lines in written.items()}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"
    yield ""


# --- commands -----------------------------------------------------------------------------------------------------


def _cli() -> Iterator[str]:
    context = click.Context(program, info_name="forklore")
    yield from ("# Command line", "", *_paragraphs(program.help), "")
    yield from ("## Global options", "", "They stand before or after the command.", "")
    yield from _options(program.params, context)
    yield from ("## Exit codes", "")
    yield from _table(
        ["Code", "Meaning"],
        [
            ["0", "done"],
            [str(EXIT_BUG), "a bug: a traceback is shown, please report it"],
            *([str(number), MEANINGS[kind]] for kind, number in EXIT_CODES.items()),
            [str(EXIT_INTERRUPTED), "stopped with Ctrl-C"],
        ],
    )
    yield from ("Treat an unknown code as failure.", "")
    for section, names in SECTIONS.items():
        yield from (f"## {section}", "")
        for name in names:
            command = program.get_command(context, name)
            if command is not None:
                yield from _command(command, context)


def _command(command: Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, parent=parent, info_name=command.name)
    known = {option.name for option in program.params}
    own = [parameter for parameter in command.params if parameter.name not in known]
    yield from (f"### `forklore {command.name}`", "", *_paragraphs(command.help), "")
    yield from ("```text", command.get_usage(context).removeprefix("Usage: ").strip(), "```", "")
    yield from _options(own, context)
    yield from ("Examples:", "", "```console", *(f"$ {example}" for example in command.examples), "```", "")


def _options(parameters: Iterable[click.Parameter], context: click.Context) -> Iterator[str]:
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    if options:
        rows = []
        for option in options:
            value = "" if option.is_flag else f" {option.make_metavar(context)}"
            rows.append([f"`{', '.join(option.opts)}{value}`", option.help or ""])
        yield from _table(["Option", "Meaning"], rows)


def _paragraphs(text: str | None) -> Iterator[str]:
    """Yield the text with one line a paragraph."""
    for number, paragraph in enumerate(inspect.cleandoc(text or "").split("\n\n")):
        if number:
            yield ""
        yield " ".join(paragraph.split())


# --- errors and findings ------------------------------------------------------------------------------------------


def all_errors() -> list[type[ForkloreError]]:
    """Return every error class of the package that has a code of its own."""
    for module in pkgutil.walk_packages([str(SOURCE)], "forklore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: set[type[ForkloreError]] = set()
    waiting = [ForkloreError]
    while waiting:
        for error in waiting.pop().__subclasses__():
            if error.__module__.startswith("forklore."):
                found.add(error)
                waiting.append(error)
    return sorted(found, key=code_of)


def code_of(error: type[ForkloreError]) -> str:
    """Return the code of an error class."""
    return "FORK_BLOCKED" if error is ForkBlocked else error.code


def _errors() -> Iterator[str]:
    yield from ("# Errors", "")
    yield "A request that cannot be fulfilled ends with one of these codes; a released code is never renamed or reused."
    yield "With `--json` the error is the document:"
    yield ""
    example = ChatNotFound(chat="Maren/Chapter 1").to_json()
    yield from ("```json", json.dumps(example, indent=2), "```", "")
    rows = [
        [
            f"`{code_of(error)}`",
            error.kind.value,
            str(EXIT_CODES[error.kind]),
            _first_line(error),
            says(code_of(error), of="error")[1] or "—",
        ]
        for error in all_errors()
    ]
    yield from _table(["Code", "Kind", "Exit", "Meaning", "What to do"], rows)
    yield "A fork that only one requirement blocks has the code of that requirement, see [findings](findings.md);"
    yield "`FORK_BLOCKED` stands for several, and `findings` lists them all."
    yield ""
    yield f"Two more come from the program itself: `BUG` (exit {EXIT_BUG}) and `INTERRUPTED` (exit {EXIT_INTERRUPTED})."


def _first_line(error: type[ForkloreError]) -> str:
    return inspect.cleandoc(error.__doc__ or "").splitlines()[0]


def _findings() -> Iterator[str]:
    yield from ("# Findings", "")
    yield "What `forklore check` and every fork look at. A released code is never renamed or reused."
    yield "Each finding is `{code, params, severity, message, action, details, repairs}`."
    yield from ("", "## Requirements before a fork", "")
    rows = [
        [
            f"`{requirement.code}`",
            *says(requirement.code, "fork"),
            WORDS[requirement.standard],
            WORDS[requirement.strict] + _remark(requirement),
        ]
        for requirement in REQUIREMENTS
    ]
    yield from _table(["Code", "Message", "What to do", "standard", "strict"], rows)
    yield "(1) No setting can change that: without it no isolated fork can be made."
    yield "(2) Only in chats with data of ST-Auto-Recap."
    yield ""
    yield "A setting can make each of them block, warn or be ignored, see [settings](settings.md)."
    yield from ("", "## On opening", "")
    yield "What `forklore verify` looks at, and `forklore doctor` in every timeline."
    yield from ("", "")
    opening = [
        [
            f"`{check.code}`",
            check.severity.value,
            *says(check.code, _OPENING_CASES.get(check.code, "")),
            _listed(_repairs(check.violations)),
        ]
        for check in (*OPENING, *ON_REQUEST)
    ]
    yield from _table(["Code", "Severity", "Message", "What to do", "Repairs"], opening)
    yield "`HISTORY_HIDDEN` is normal at a scene break: nobody is told, but `forklore repair` knows it."
    yield from ("", "## The folder itself", "")
    yield "What `forklore doctor` finds besides the stories; `forklore repair PATH CODE` lists and makes the repairs."
    yield from ("", "")
    folder = [
        [f"`{each.code}`", each.of, each.severity.value, *says(each.code, each.of), _listed(each.repairs)]
        for each in FOLDER_FINDINGS
    ]
    yield from _table(["Code", "Of", "Severity", "Message", "What to do", "Repairs"], folder)
    yield from ("## Repairs", "")
    known = {name: texts.text(f"repair.{name}") for name in (*REPAIRS, *OF_THEIR_OWN, *FOLDER_REPAIRS)}
    yield from _table(["Repair", "What it does"], [[f"`{name}`", does] for name, does in known.items()])
    yield from ("## What else is told", "")
    yield from _table(["Code", "Message", "What to do"], sorted(_told()))


def _listed(repairs: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in repairs) or "none"


def _remark(requirement: Requirement) -> str:
    return " (1)" if requirement.indispensable else " (2)" if requirement.recaps_only else ""


def says(code: str, case: str = "", of: str = "finding") -> tuple[str, str]:
    """Return what is told and what to do, for one case of it, or for all its cases together."""
    return _part(f"{of}.{code}", "message", case), _part(f"{of}.{code}", "action", case)


def _part(fact: str, part: str, case: str) -> str:
    known = texts.catalogue()
    for key in (f"{fact}.{case}.{part}", f"{fact}.{part}"):
        if key in known:
            return _sketched(parse(known[key]))
    cases = [text for key, text in known.items() if key.startswith(f"{fact}.") and key.endswith(f".{part}")]
    return " / ".join(dict.fromkeys(_sketched(parse(text)) for text in cases))


def _sketched(template: Template) -> str:
    """Return a text with its gaps left open."""
    return "".join(
        part if isinstance(part, str) else _sketched(dict(part.cases)["other"]) if "other" in dict(part.cases) else "…"
        for part in template
    ).replace("\n", " ")


def _repairs(rule: Callable[..., Any]) -> list[str]:
    """Return the names of the repairs that the source of a check mentions."""
    tree = ast.parse(inspect.getsource(rule))
    known = {*REPAIRS, *OF_THEIR_OWN}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return list(dict.fromkeys(text for text in texts if text in known))


def told_codes() -> set[str]:
    """Return the codes of the findings that are no requirements."""
    return {key.split(".")[1] for key in texts.catalogue() if key.startswith("finding.")}


def _told() -> Iterator[list[str]]:
    """Yield code, message and action of every finding that no table above has."""
    shown = {each.code for each in (*REQUIREMENTS, *OPENING, *ON_REQUEST, *FOLDER_FINDINGS)}
    yield from ([f"`{code}`", *says(code)] for code in told_codes() - shown)


# --- settings -----------------------------------------------------------------------------------------------------


def _settings() -> Iterator[str]:
    templates = NameTemplates()
    names = {"checkpoint": templates.checkpoint, "branch": templates.branch}
    usual: dict[str, Any] = {"policy": "standard", "requirements": {}, "names": names, "shared_books": []}
    yield from ("# Settings", "")
    yield "A workspace's settings are in `.forklore/settings.json` in the SillyTavern user folder."
    yield "`forklore settings` shows and changes them; whoever edits the file by hand keeps to this page."
    yield "All keys are optional; without the file everything is as here:"
    yield from ("", "```json", json.dumps(usual, indent=2), "```", "")
    effects = ", ".join(f"`{effect.value}`" for effect in Effect)
    yield from _table(
        ["Key", "Values"],
        [
            ["`policy`", "`standard` or `strict`; the option `--policy` wins over it"],
            ["`requirements`", f"for each code of [findings](findings.md) one of {effects}; this wins over the policy"],
            *(
                [
                    f"`names.{kind}`",
                    "how a fork without a typed name is called: `{parent}`, and `{n}`, the first free number",
                ]
                for kind in names
            ),
            ["`shared_books`", "lorebooks that several timelines are meant to share; `isolate --share` also adds one"],
        ],
    )
    fixed = ", ".join(f"`{requirement.code}`" for requirement in REQUIREMENTS if requirement.indispensable)
    yield f"{fixed} always block: without them no isolated fork can be made."
    yield from ("", "## Environment", "")
    yield from _table(
        ["Variable", "Meaning"],
        [
            [
                "`FORKLORE_DATA`",
                "SillyTavern's folder, its data folder or a user folder; the option `--data` wins over it",
            ],
            ["`FORKLORE_CACHE`", "where the index of known chats is kept; it can be deleted at any time"],
            ["`FORKLORE_STATE`", "where keys and logins are kept, outside of every SillyTavern folder"],
            ["`FORKLORE_LOG`", "if it is set and not empty, what is done and refused is told on standard error"],
            ["`NO_COLOR`", "no colours, if it is set and not empty"],
        ],
    )


def _rest() -> Iterator[str]:
    document = rest_document()
    yield from (
        "# REST",
        "",
        f"{document['info']['description']} All of them are below the address of `forklore serve`.",
        "",
    )
    yield "Errors are `application/problem+json`; [errors.md](errors.md) lists the codes."
    yield "How requests are let in, followed and cancelled is told in [the service's design](../design/service.md)."
    yield ""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from (f"## `{method.upper()} {path}`", "", operation["description"], "")
            given = [*_parameters(operation), *_body(operation, document)]
            if given:
                yield from _table(("Field", "Type", "Needed"), given)
            answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema")
            if answer:
                yield from (f"Answers {_shape(answer)}.", "")


def rest_document() -> dict[str, Any]:
    """Return the OpenAPI document of the service."""
    return completed(routes(Access([], State(Path())), Service(), "cookie").openapi_schema.to_schema())


def _parameters(operation: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for parameter in operation.get("parameters", ()):
        where = "path" if parameter["in"] == "path" else "query"
        yield (
            f"`{parameter['name']}` ({where})",
            _shape(parameter["schema"]),
            "yes" if parameter.get("required") else "",
        )


def _body(operation: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content:
        name = content["schema"]["$ref"].rpartition("/")[2]
        shape = document["components"]["schemas"][name]
        for field, described in shape.get("properties", {}).items():
            yield f"`{field}`", _shape(described), "yes" if field in shape.get("required", ()) else ""


def _shape(shape: dict[str, Any]) -> str:
    """Return a JSON Schema in a few words."""
    if "enum" in shape:
        return " or ".join(f"`{value}`" for value in shape["enum"])
    for key in ("anyOf", "oneOf"):
        if key in shape:
            return " or ".join(dict.fromkeys(_shape(each) for each in shape[key]))
    kind = shape.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"a list of {_shape(shape['items'])}"
    if kind == "object" and shape.get("properties"):
        more = ", …" if shape.get("additionalProperties") else ""
        return f"{{{', '.join(f'`{name}`' for name in shape['properties'])}{more}}}"
    return {"string": "text", "integer": "number", "boolean": "true or false", "anything": "any value"}.get(kind, kind)


# --- the page's types ---------------------------------------------------------------------------------------------


def page_types() -> str:
    """Return the shapes of the answers as types for the page."""
    names = {id(shape): name for name, (shape, _) in TYPES.items()}
    parts = [
        "/**",
        " * The shapes that the service answers with. Written by docs/generate.py from forklore/web/schema.py:",
        " * change that and run `make docs`.",
        " * @module",
        " */",
        "",
    ]
    for name, (shape, about) in TYPES.items():
        whole = f"/** @typedef {{{_js(shape, names, is_whole=True)}}} {name}{f' {about}' if about else ''} */"
        parts += [whole] if len(whole) <= _LINE else _js_properties(name, shape, about, names)
    return "\n".join([*parts, "", "export {};", ""]).replace("\n\n\n", "\n\n")


_LINE = 120


def _js_properties(name: str, shape: Shape, about: str, names: Mapping[int, str]) -> Iterator[str]:
    yield from ("", "/**", f" * @typedef {{Object}} {name}{f' {about}' if about else ''}")
    for field, each in shape["properties"].items():
        shown = field if field in shape["required"] else f"[{field}]"
        yield f" * @property {{{_js(each, names)}}} {shown}"
    yield from (" */", "")


def _js(shape: Shape, names: Mapping[int, str], *, is_whole: bool = False) -> str:
    """Return a shape as a type of TypeScript."""
    return " | ".join(_js_choices(shape, names, is_whole=is_whole))


def _js_choices(shape: Shape, names: Mapping[int, str], *, is_whole: bool = False) -> list[str]:
    """Return what a value may be."""
    if not is_whole and id(shape) in names:
        return [names[id(shape)]]
    if "enum" in shape:
        return [json.dumps(each) for each in shape["enum"]]
    if "anyOf" in shape:
        return [choice for each in shape["anyOf"] for choice in _js_choices(each, names)]
    kinds = shape.get("type", "any")
    return [_js_kind(kind, shape, names) for kind in ([kinds] if isinstance(kinds, str) else kinds)]


def _js_kind(kind: str, shape: Shape, names: Mapping[int, str]) -> str:
    if kind == "array":
        choices = _js_choices(shape["items"], names)
        return f"({' | '.join(choices)})[]" if len(choices) > 1 else f"{choices[0]}[]"
    if kind == "object" and "properties" in shape:
        marks = {field: "" if field in shape["required"] else "?" for field in shape["properties"]}
        each = (f"{field}{marks[field]}: {_js(of, names)}" for field, of in shape["properties"].items())
        return f"{{{', '.join(each)}}}"
    if kind == "object":
        return f"Record<string, {_js(shape.get('additionalProperties', {}), names)}>"
    return _JS.get(kind, kind)


_JS = {"integer": "number"}
"""Where TypeScript has another word than JSON Schema."""


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with ``--check`` say which are stale; return the exit code."""
    stale = []
    for path, text in {**{REFERENCE / name: text for name, text in pages().items()}, PAGE_TYPES: page_types()}.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
    if "--check" in arguments and stale:
        print(f"Stale: {', '.join(stale)}. Run `make docs`.", file=sys.stderr)
        return 1
    print(f"docs/reference is fresh; written: {', '.join(stale) or 'nothing'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
