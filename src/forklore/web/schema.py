"""The shapes of our answers: the one definition of them.

The OpenAPI document tells them, ``docs/generate.py`` writes the page's types from those that have a name, and the tests
hold every answer of the service against them.
"""

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
OBJECT: Shape = {"type": "object"}

TYPES: dict[str, tuple[Shape, str]] = {}
"""The shapes that have a name, each with what there is to say about it."""


def named(name: str, shape: Shape, about: str = "") -> Shape:
    """Return *shape*, which is known by a name from now on."""
    TYPES[name] = (shape, about)
    return shape


def one_of(*words: str) -> Shape:
    """Return a text that is one of a few words."""
    return {"enum": list(words)}


def maybe(shape: Shape) -> Shape:
    """Return *shape*, or null for what is unknown."""
    return {"anyOf": [shape, {"type": "null"}]}


def many(shape: Shape) -> Shape:
    """Return a list of *shape*."""
    return {"type": "array", "items": shape}


def each(shape: Shape) -> Shape:
    """Return an object whose keys are names, each with a *shape*."""
    return {"type": "object", "additionalProperties": shape}


def fields(**shapes: Shape) -> Shape:
    """Return an object that has all these fields: what is unknown is null, never absent."""
    return {"type": "object", "properties": shapes, "required": list(shapes)}


def also(shape: Shape, **shapes: Shape) -> Shape:
    """Return an object with these fields besides."""
    return fields(**shape["properties"], **shapes)


def perhaps(shape: Shape, **shapes: Shape) -> Shape:
    """Return an object that may have these fields, too."""
    return {**shape, "properties": {**shape["properties"], **shapes}}


PARAMS = named("Params", each(ANYTHING), "what a code is about; which names there are depends on the code")
FACT = named("Fact", fields(code=TEXT, params=PARAMS), "what the page says in its own words")
KIND = named("Kind", one_of("main", "checkpoint", "branch"))
HEALTH = named("Health", one_of("isolated", "leaks", "unverified"))
FINDING = named(
    "Finding",
    perhaps(
        fields(
            code=TEXT, params=PARAMS, severity=one_of("error", "warning", "note"), message=TEXT, action=TEXT,
            details=TEXT, repairs=many(TEXT),
        ),
        chat=TEXT, path=TEXT, safe=FLAG,
    ),
    "where it was found is told by who looks at many chats; safe: mending it cannot lose anything",
)  # fmt: skip
RECORD = one_of("recorded", "legacy", "none")
TIMELINE = named(
    "StoryTimeline",
    fields(
        chat=TEXT, kind=KIND, parent=maybe(TEXT), at=maybe(COUNT), messages=COUNT, lorebook=maybe(TEXT), isolated=FLAG,
        record=RECORD,
    ),
    "a timeline as its story tells it",
)  # fmt: skip
STORY = named("Story", fields(main=TEXT, timelines=many(TIMELINE)))
CHANGE = named("PlannedChange", fields(action=TEXT, path=TEXT))
PLAN = fields(plan=many(CHANGE))
ERROR = named(
    "ErrorTold", fields(code=TEXT, params=PARAMS, kind=TEXT, message=TEXT, action=TEXT, findings=many(FINDING))
)
PROBLEM = fields(
    type=TEXT, title=TEXT, status=COUNT, detail=TEXT, code=TEXT, params=PARAMS, kind=TEXT, action=TEXT,
    findings=many(FINDING),
)  # fmt: skip
SOURCE = one_of("live", "history", "scene-snapshot", "anchor", "present", "none")
CLONE = named("Clone", fields(name=TEXT, original=TEXT, role=TEXT, entries=COUNT, source=SOURCE))
SETTING = named(
    "SettingToCopy",
    fields(path=many(TEXT), old=TEXT, new=TEXT, put=OBJECT, lists=TEXT, uids=many(ANYTHING)),
    "what the settings have under an old name, copied to a new one: with other fields, without some UIDs in its lists",
)
EDIT = fields(
    line=maybe(COUNT), do=one_of("put", "drop", "append", "take"), path=many({"type": ["string", "integer"]}),
    text=maybe(TEXT), only_if=maybe(TEXT), prune=COUNT,
)  # fmt: skip
LEFT = many(fields(chat=maybe(TEXT), group=maybe(TEXT), edits=many(EDIT)))
FORK_TOLD = fields(
    kind=one_of("checkpoint", "branch"), chat=TEXT, parent=TEXT, at=COUNT, messages=COUNT, lorebook=maybe(TEXT),
    original_lorebook=maybe(TEXT), entries=COUNT, lorebook_source=SOURCE, lorebooks=many(CLONE), settings=many(SETTING),
    warnings=many(FINDING), notes=many(FINDING), carried_from_present=many(TEXT), left_out=many(TEXT),
)  # fmt: skip
FORK = named("Fork", also(FORK_TOLD, operation=TEXT, left=LEFT))
FOUND = fields(
    kind=one_of("checkpoint", "branch"), chat=TEXT, parent=maybe(TEXT), at=maybe(COUNT), lorebook=maybe(TEXT),
    operation=TEXT, left=LEFT,
)  # fmt: skip
PREVIEW = named("Preview", also(FORK_TOLD, versions_kept=many(COUNT), versions_left_out=many(COUNT), plan=many(CHANGE)))
ISOLATED = named(
    "IsolatedFork",
    perhaps(
        fields(
            chat=TEXT, parent=maybe(TEXT), at=maybe(COUNT), lorebook=maybe(TEXT), original_lorebook=maybe(TEXT),
            entries=COUNT, lorebook_source=SOURCE, kept_versions=many(COUNT), removed_versions=many(COUNT),
            operation=maybe(TEXT), outcome=TEXT, warnings=many(FINDING), notes=many(FINDING),
            carried_from_present=many(TEXT), left_out=many(TEXT), left_out_entries=many(TEXT),
        ),
        plan=many(CHANGE),
    ),
    "with its plan while it is not done",
)  # fmt: skip
REFUSED = named("RefusedFork", fields(chat=TEXT, error=ERROR))
ISOLATED_ALL = named("IsolatedAll", fields(forks=many(ISOLATED), refused=many(REFUSED)))
CHECKED = fields(
    chat=TEXT, at=maybe(COUNT), valid=FLAG, errors=many(FINDING), warnings=many(FINDING), notes=many(FINDING),
    state=fields(
        queueEmpty=FLAG, hasSceneBreak=FLAG, hasSceneRecap=FLAG, hasRunningRecap=FLAG, messageIndex=maybe(COUNT)
    ),
)  # fmt: skip
PROOF = named(
    "Proof",
    fields(state=one_of("as_recorded", "edited", "unknown"), changed=many(COUNT)),
    "whether something is as it was recorded, and what is not",
)
VERIFIED = named(
    "Verified",
    fields(
        chat=TEXT, kind=KIND, ok=FLAG, findings=many(FINDING), notes=many(FINDING),
        facts=fields(messages=PROOF, lorebooks=each(PROOF)), settings=many(SETTING),
    ),
)  # fmt: skip
STATUS = fields(
    is_checkpoint=FLAG, main_chat=maybe(TEXT), current_chat=TEXT, checkpoint_state=maybe(OBJECT),
    current_lorebook=maybe(TEXT), lorebook_match=maybe(FLAG), running_recap_current_version=maybe(COUNT),
    running_recap_version_match=maybe(FLAG), lorebook_missing=FLAG,
)  # fmt: skip
READINESS = fields(ready=FLAG, codes=many(TEXT))
VERSION = fields(version=maybe(COUNT), scene_count=maybe(COUNT), new_scene_index=maybe(COUNT), timestamp=maybe(NUMBER))
SHOWN = named(
    "Timeline",
    fields(
        chat=TEXT, kind=KIND, parent=maybe(TEXT), at=maybe(COUNT), messages=COUNT, lorebook=maybe(TEXT),
        entries=maybe(COUNT), isolated=FLAG, record=RECORD,
        running_recap=fields(current_version=maybe(COUNT), versions=many(VERSION)),
        scene_breaks=many(fields(message=COUNT, name=TEXT, ready=FLAG, codes=many(TEXT))),
        children=many(TEXT),
    ),
)  # fmt: skip
PRODUCER = named(
    "Producer",
    fields(chat=TEXT, confidence=one_of("certain", "likely", "possible"), because=TEXT, reason=FACT),
)
ORIGIN = named("EntryOrigin", fields(uid=ANYTHING, comment=TEXT, produced_by=many(PRODUCER), goes_to=many(TEXT)))
CONTAMINATION = named(
    "Contamination",
    fields(
        story=TEXT, book=TEXT, timelines=many(TIMELINE), total=COUNT, apart=COUNT, start=COUNT, entries=many(ORIGIN)
    ),
    "some entries of the report; first those that not every timeline keeps",
)
OFFER = named("RepairOffered", fields(repair=TEXT, source=maybe(TEXT), does=TEXT, plan=many(CHANGE)))
REPAIRS = named(
    "Repairs",
    fields(
        chat=TEXT, finding=FINDING, repairs=many(OFFER), applied=maybe(TEXT), operation=maybe(TEXT),
        pending=many(TEXT), pending_facts=many(FACT),
    ),
)  # fmt: skip
FIXED = fields(code=TEXT, where=TEXT, repair=TEXT, operation=maybe(TEXT))
EXAMINED = named("Examined", fields(ok=FLAG, findings=many(FINDING), fixed=many(FIXED)))
CLEANUP = named(
    "Cleanup",
    fields(
        books=many(fields(**{"name": TEXT, "size": COUNT, "age_days": COUNT, "from": TEXT, "origin": PARAMS})),
        map_entries=many(fields(chat=TEXT, fork=TEXT, book=TEXT)),
        kept_because=many(TEXT), kept_facts=many(FACT), operation=maybe(TEXT),
    ),
)  # fmt: skip
TRASH_ITEM = named("TrashItem", fields(item=TEXT, path=maybe(TEXT), when=TEXT, size=COUNT, operation=maybe(TEXT)))
TRASH = fields(items=many(TRASH_ITEM))
OPERATION = named(
    "Operation",
    fields(
        id=TEXT, number=maybe(COUNT), follows=maybe(TEXT), request=maybe(TEXT), kind=TEXT, chat=TEXT, when=TEXT,
        undone=FLAG, undoes=maybe(TEXT),
    ),
    "in the log, newest first: the number tells the order, not the clock",
)  # fmt: skip
QUEUED = named(
    "Queued",
    fields(id=TEXT, type=TEXT, status=TEXT, target=TEXT, entity=maybe(TEXT), message=maybe(COUNT)),
    "what it works on is an entity or a message",
)
QUEUE = named(
    "Queue",
    fields(chat=TEXT, lorebook=maybe(TEXT), idle=FLAG, operations=many(QUEUED), operation=maybe(TEXT)),
)
EFFECT = one_of("block", "warn", "note", "ignore")
SETTINGS = named(
    "Settings",
    fields(
        policy=one_of("standard", "strict"), requirements=each(TEXT), names=fields(checkpoint=TEXT, branch=TEXT),
        shared_books=many(TEXT), rows=many(fields(code=TEXT, standard=EFFECT, strict=EFFECT, fixed=FLAG)),
        books=many(TEXT), operation=maybe(TEXT),
    ),
)  # fmt: skip
JOB = named(
    "WishedJob",
    fields(job=TEXT, command=TEXT, chat=maybe(TEXT), done=COUNT, total=COUNT, ended=FLAG),
    "one that goes on without its page",
)
STORY_SHOWN = named(
    "StoryShown",
    fields(
        main=TEXT, name=TEXT, folder=TEXT, timelines=COUNT, messages=COUNT, active=NUMBER, health=HEALTH,
        reason=maybe(TEXT),
    ),
)  # fmt: skip
OVERVIEW = named("Overview", fields(workspace=TEXT, open=maybe(TEXT), stories=many(STORY_SHOWN)))
COLUMN = named("Column", fields(message=COUNT, collapsed=COUNT))
LANE = named(
    "Lane",
    fields(
        chat=TEXT, name=TEXT, kind=KIND, parent=maybe(TEXT), at=maybe(COUNT), row=COUNT, parent_row=maybe(COUNT),
        start=COUNT, end=COUNT, messages=COUNT, lorebook=maybe(TEXT), running_version=maybe(COUNT), record=RECORD,
        health=HEALTH, reason=maybe(TEXT),
    ),
)  # fmt: skip
LAYOUT = named("Layout", fields(main=TEXT, columns=many(COLUMN), lanes=many(LANE)))
MESSAGE = named(
    "Message",
    fields(
        number=COUNT, name=TEXT, is_user=FLAG, hidden=FLAG, text=TEXT, sent={"type": ["string", "number", "null"]},
        swipes=COUNT, swipe=COUNT, scene=maybe(fields(name=TEXT, ready=FLAG, codes=many(TEXT))), fork=READINESS,
        links=many(fields(kind=KIND, chat=TEXT)), damaged=FLAG,
    ),
)  # fmt: skip
MESSAGES = named("Page", fields(chat=TEXT, total=COUNT, start=COUNT, messages=many(MESSAGE)))
RECAP = named(
    "Recap",
    fields(
        chat=TEXT, at=COUNT, running=maybe(fields(version=COUNT, scenes=COUNT, text=TEXT)), combined=maybe(TEXT),
        scene=maybe(fields(message=COUNT, name=TEXT, text=TEXT)),
    ),
)  # fmt: skip
TOLD = fields(code=TEXT, params=PARAMS, text=TEXT)
PROGRESS = named(
    "Progress",
    perhaps(
        fields(job=TEXT), step=also(TOLD, number=COUNT), note=also(TOLD, good=maybe(FLAG)), done=COUNT, total=COUNT
    ),
    "an event: one thing that is told of work while it goes on",
)

ANSWERS: dict[tuple[str, str], Shape] = {
    ("get", "stories"): fields(stories=many(STORY)),
    ("get", "tree"): STORY,
    ("get", "show"): SHOWN,
    ("get", "check"): CHECKED,
    ("get", "verify"): VERIFIED,
    ("get", "status"): STATUS,
    ("get", "contamination"): CONTAMINATION,
    ("post", "checkpoint"): {"anyOf": [FORK, PLAN]},
    ("post", "branch"): {"anyOf": [FORK, PLAN]},
    ("get", "repair"): REPAIRS,
    ("post", "repair"): REPAIRS,
    ("get", "doctor"): EXAMINED,
    ("post", "doctor"): EXAMINED,
    ("post", "follow"): fields(followed=many(FIXED)),
    ("post", "isolate"): {"anyOf": [ISOLATED, PLAN, ISOLATED_ALL]},
    ("post", "delete"): fields(
        chat=TEXT,
        book=maybe(TEXT),
        more_books=many(TEXT),
        kept_because=many(TEXT),
        kept_facts=many(FACT),
        children=many(TEXT),
        operation=TEXT,
    ),
    ("get", "cleanup"): CLEANUP,
    ("post", "cleanup"): CLEANUP,
    ("get", "trash"): TRASH,
    ("post", "trash"): TRASH,
    ("post", "restore"): fields(item=TEXT, path=TEXT, operation=TEXT, pending=many(TEXT), pending_facts=many(FACT)),
    ("get", "log"): fields(operations=many(OPERATION), findings=many(FINDING), next_undo=maybe(TEXT)),
    ("post", "undo"): fields(undone=TEXT, operation=TEXT, pending=many(TEXT), pending_facts=many(FACT), left=LEFT),
    ("get", "queue"): QUEUE,
    ("post", "queue"): QUEUE,
    ("get", "settings"): SETTINGS,
    ("post", "settings"): SETTINGS,
    ("get", "overview"): OVERVIEW,
    ("get", "groups"): fields(groups=many(fields(id=TEXT, name=TEXT))),
    ("get", "layout"): LAYOUT,
    ("get", "messages"): MESSAGES,
    ("get", "recap"): RECAP,
    ("get", "preview"): PREVIEW,
    ("get", "where"): fields(chat=TEXT, messages=many(fields(number=COUNT, ready=FLAG, codes=many(TEXT)))),
    ("get", "made"): fields(request=TEXT, outcome=one_of("nothing", "gone", "made"), fork=maybe(FOUND)),
    ("post", "open"): fields(chat=maybe(TEXT)),
    ("get", "jobs"): fields(jobs=many(JOB)),
    ("get", "jobs/{job}"): also(JOB, answer=maybe(OBJECT), problem=maybe(PROBLEM)),
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
