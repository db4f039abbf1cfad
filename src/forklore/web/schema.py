"""The OpenAPI document: Litestar's, with the shapes of our answers and without what we never answer."""

from __future__ import annotations

import json
from typing import Any

from litestar import Request
from litestar.openapi.plugins import JsonRenderPlugin

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
FLAG: Shape = {"type": "boolean"}
COUNT: Shape = {"type": "integer"}
NUMBER: Shape = {"type": "number"}
ANYTHING: Shape = {}


def maybe(shape: Shape) -> Shape:
    """Return *shape*, or null for what is unknown."""
    return {"anyOf": [shape, {"type": "null"}]}


def many(shape: Shape) -> Shape:
    """Return a list of *shape*."""
    return {"type": "array", "items": shape}


def fields(**shapes: Shape) -> Shape:
    """Return an object that has all these fields: what is unknown is null, never absent."""
    return {"type": "object", "properties": shapes, "required": list(shapes)}


def open_fields(**shapes: Shape) -> Shape:
    """Return an object of which only some fields are told here."""
    return {"type": "object", "properties": shapes, "required": list(shapes), "additionalProperties": True}


FINDING = fields(
    code=TEXT,
    severity={"enum": ["error", "warning", "info"]},
    message=TEXT,
    action=TEXT,
    details=TEXT,
    repairs=many(TEXT),
)
KIND: Shape = {"enum": ["main", "checkpoint", "branch"]}
TIMELINE = fields(
    chat=TEXT, kind=KIND, parent=maybe(TEXT), at=maybe(COUNT), messages=COUNT, lorebook=maybe(TEXT), isolated=FLAG,
    record={"enum": ["recorded", "legacy", "none"]},
)  # fmt: skip
STORY = fields(main=TEXT, timelines=many(TIMELINE))
STEP = open_fields(action=TEXT, path=TEXT)
PLAN = open_fields(plan=many(STEP))
ISOLATED = open_fields(chat=TEXT, operation=maybe(TEXT))
REFUSED = fields(chat=TEXT, error=open_fields(code=TEXT, kind=TEXT, message=TEXT, action=TEXT, findings=many(FINDING)))
FORK = fields(
    kind=KIND, chat=TEXT, parent=TEXT, at=COUNT, messages=COUNT, lorebook=maybe(TEXT), original_lorebook=maybe(TEXT),
    entries=COUNT, lorebook_source={"enum": ["live", "history", "scene-snapshot", "present", "none"]},
    warnings=many(FINDING), carried_from_present=many(TEXT), left_out=many(TEXT), operation=TEXT,
)  # fmt: skip
CHECKED = fields(
    chat=TEXT, at=maybe(COUNT), valid=FLAG, errors=many(FINDING), warnings=many(FINDING),
    state=fields(
        queueEmpty=FLAG, hasSceneBreak=FLAG, hasSceneRecap=FLAG, hasRunningRecap=FLAG, messageIndex=maybe(COUNT)
    ),
)  # fmt: skip
OPERATION = fields(
    id=TEXT, number=maybe(COUNT), follows=maybe(TEXT), request=maybe(TEXT), kind=TEXT, chat=TEXT, when=TEXT,
    undone=FLAG, undoes=maybe(TEXT),
)  # fmt: skip
EDIT = fields(
    line=maybe(COUNT), do={"enum": ["put", "drop", "append", "take"]}, path=many({"type": ["string", "integer"]}),
    text=maybe(TEXT), only_if=maybe(TEXT), prune=COUNT,
)  # fmt: skip
JOB: dict[str, Shape] = {
    "job": TEXT, "command": TEXT, "chat": maybe(TEXT), "done": COUNT, "total": COUNT, "ended": FLAG,
}  # fmt: skip
READINESS = fields(ready=FLAG, codes=many(TEXT))

ANSWERS: dict[tuple[str, str], Shape] = {
    ("get", "stories"): fields(stories=many(STORY)),
    ("get", "tree"): STORY,
    ("get", "show"): open_fields(chat=TEXT, kind=KIND, scene_breaks=many(open_fields(message=COUNT, ready=FLAG))),
    ("get", "check"): CHECKED,
    ("get", "verify"): open_fields(chat=TEXT, kind=KIND, ok=FLAG, findings=many(FINDING)),
    ("get", "status"): open_fields(is_checkpoint=FLAG, current_chat=TEXT, checkpoint_state=ANYTHING),
    ("get", "contamination"): fields(
        story=TEXT,
        book=TEXT,
        timelines=many(TIMELINE),
        total=COUNT,
        apart=COUNT,
        start=COUNT,
        entries=many(
            fields(
                uid=ANYTHING,
                comment=TEXT,
                goes_to=many(TEXT),
                produced_by=many(
                    fields(chat=TEXT, confidence={"enum": ["certain", "likely", "possible"]}, because=TEXT)
                ),
            )
        ),
    ),
    ("post", "checkpoint"): {"anyOf": [FORK, PLAN]},
    ("post", "branch"): {"anyOf": [FORK, PLAN]},
    ("get", "repair"): open_fields(chat=TEXT, finding=FINDING, repairs=many(ANYTHING)),
    ("post", "repair"): open_fields(chat=TEXT, applied=TEXT, operation=TEXT),
    ("get", "doctor"): fields(ok=FLAG, findings=many(open_fields(code=TEXT)), fixed=many(ANYTHING)),
    ("post", "doctor"): fields(ok=FLAG, findings=many(open_fields(code=TEXT)), fixed=many(ANYTHING)),
    ("post", "isolate"): {"anyOf": [ISOLATED, PLAN, fields(forks=many(ISOLATED), refused=many(REFUSED))]},
    ("post", "delete"): fields(
        chat=TEXT, book=maybe(TEXT), kept_because=many(TEXT), children=many(TEXT), operation=TEXT
    ),
    ("get", "cleanup"): open_fields(books=many(ANYTHING), map_entries=many(ANYTHING), operation=maybe(TEXT)),
    ("post", "cleanup"): open_fields(books=many(ANYTHING), map_entries=many(ANYTHING), operation=maybe(TEXT)),
    ("get", "trash"): fields(items=many(open_fields(item=TEXT, size=COUNT, operation=maybe(TEXT)))),
    ("post", "trash"): fields(items=many(open_fields(item=TEXT, size=COUNT, operation=maybe(TEXT)))),
    ("post", "restore"): fields(item=TEXT, path=TEXT, operation=TEXT),
    ("get", "log"): fields(operations=many(OPERATION), findings=many(open_fields(code=TEXT))),
    ("post", "undo"): fields(
        undone=TEXT,
        operation=TEXT,
        pending=many(TEXT),
        left=many(fields(chat=maybe(TEXT), group=maybe(TEXT), edits=many(EDIT))),
    ),
    ("get", "queue"): open_fields(chat=TEXT, lorebook=maybe(TEXT), idle=FLAG, operations=many(ANYTHING)),
    ("post", "queue"): open_fields(chat=TEXT, lorebook=maybe(TEXT), idle=FLAG, operations=many(ANYTHING)),
    ("get", "settings"): open_fields(policy=TEXT, names=ANYTHING, shared_books=many(TEXT)),
    ("post", "settings"): open_fields(policy=TEXT, names=ANYTHING, shared_books=many(TEXT)),
    ("get", "overview"): fields(
        workspace=TEXT,
        open=maybe(TEXT),
        stories=many(
            fields(
                main=TEXT,
                name=TEXT,
                folder=TEXT,
                timelines=COUNT,
                messages=COUNT,
                active=maybe(NUMBER),
                health=TEXT,
                reason=maybe(TEXT),
            )
        ),
    ),
    ("get", "groups"): fields(groups=many(fields(id=TEXT, name=TEXT))),
    ("get", "layout"): open_fields(main=TEXT, columns=many(ANYTHING), lanes=many(open_fields(chat=TEXT, row=COUNT))),
    ("get", "messages"): fields(
        chat=TEXT, total=COUNT, start=COUNT, messages=many(open_fields(number=COUNT, damaged=FLAG, fork=READINESS))
    ),
    ("get", "recap"): open_fields(chat=TEXT, at=COUNT, running=ANYTHING, combined=ANYTHING, scene=ANYTHING),
    ("get", "preview"): open_fields(kind=KIND, chat=TEXT, at=COUNT, plan=many(STEP)),
    ("get", "where"): open_fields(chat=TEXT, messages=many(open_fields(number=COUNT, ready=FLAG))),
    ("post", "open"): fields(chat=maybe(TEXT)),
    ("get", "jobs"): fields(jobs=many(fields(**JOB))),
    ("get", "jobs/{job}"): fields(**JOB, answer=maybe({"type": "object"}), problem=maybe(open_fields(code=TEXT))),
    ("delete", "jobs/{job}"): fields(job=TEXT, cancelled=FLAG),
    ("get", "health"): fields(name=TEXT, version=TEXT, password=FLAG),
    ("post", "pair"): fields(token=TEXT, workspace=TEXT),
    ("post", "login"): fields(path=TEXT),
}
"""What each route answers, as JSON Schema."""


class Document(JsonRenderPlugin):
    """The document as we answer it."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Return the document."""
        del request
        return json.dumps(completed(openapi_schema)).encode()


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """Return Litestar's document with our answers in it."""
    document = json.loads(json.dumps(document))
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            operation["responses"].pop("400", None)  # what does not fit is 422
            shape = ANSWERS.get((method, path.removeprefix("/api/")))
            if shape is not None:
                operation["responses"]["200"]["content"]["application/json"]["schema"] = shape
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return dict(document)
