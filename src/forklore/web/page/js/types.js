/**
 * The shapes that the service answers with; docs/design/service.md describes them.
 * @module
 */

/** @typedef {"isolated" | "leaks" | "unverified"} Health */
/** @typedef {"main" | "checkpoint" | "branch"} Kind */

/**
 * @typedef {Object} Finding
 * @property {string} code
 * @property {"error" | "warning"} severity
 * @property {string} message
 * @property {string} action
 * @property {string} details
 * @property {string[]} repairs
 * @property {string} [chat]
 * @property {string} [path]
 * @property {boolean} [safe] whether mending it cannot lose anything, as the doctor says
 */

/** @typedef {{action: string, path: string}} PlannedChange */

/**
 * @typedef {Object} StoryShown
 * @property {string} main
 * @property {string} name
 * @property {string} folder
 * @property {number} timelines
 * @property {number} messages
 * @property {number} active
 * @property {Health} health
 * @property {string | null} reason
 */

/** @typedef {{workspace: string, open: string | null, stories: StoryShown[]}} Overview */
/** @typedef {{message: number, collapsed: number}} Column */

/**
 * @typedef {Object} Lane
 * @property {string} chat
 * @property {string} name
 * @property {Kind} kind
 * @property {string | null} parent
 * @property {number | null} at
 * @property {number} row
 * @property {number | null} parent_row
 * @property {number} start
 * @property {number} end
 * @property {number} messages
 * @property {string | null} lorebook
 * @property {number | null} running_version
 * @property {string} record
 * @property {Health} health
 * @property {string | null} reason
 */

/** @typedef {{main: string, columns: Column[], lanes: Lane[]}} Layout */

/**
 * @typedef {Object} Message
 * @property {number} number
 * @property {string} name
 * @property {boolean} is_user
 * @property {boolean} hidden
 * @property {string} text
 * @property {string | number | null} sent
 * @property {number} swipes
 * @property {number} swipe
 * @property {{name: string, ready: boolean, codes: string[]} | null} scene
 * @property {{ready: boolean, codes: string[]}} fork
 * @property {{kind: Kind, chat: string}[]} links
 * @property {boolean} damaged
 */

/** @typedef {{chat: string, total: number, start: number, messages: Message[]}} Page */

/**
 * @typedef {Object} Recap
 * @property {string} chat
 * @property {number} at
 * @property {{version: number, scenes: number, text: string} | null} running
 * @property {string | null} combined
 * @property {{message: number, name: string, text: string} | null} scene
 */

/**
 * @typedef {Object} Preview
 * @property {"checkpoint" | "branch"} kind
 * @property {string} chat
 * @property {string} parent
 * @property {number} at
 * @property {number} messages
 * @property {string | null} lorebook
 * @property {string | null} original_lorebook
 * @property {number} entries
 * @property {string} lorebook_source
 * @property {Finding[]} warnings
 * @property {string[]} carried_from_present
 * @property {string[]} left_out
 * @property {number[]} versions_kept
 * @property {number[]} versions_left_out
 * @property {PlannedChange[]} plan
 */

/**
 * @typedef {Object} Fork
 * @property {"checkpoint" | "branch"} kind
 * @property {string} chat
 * @property {string} parent
 * @property {number} at
 * @property {number} messages
 * @property {string | null} lorebook
 * @property {number} entries
 * @property {string} lorebook_source
 * @property {Finding[]} warnings
 * @property {string[]} carried_from_present
 * @property {string[]} left_out
 * @property {string} operation
 */

/**
 * @typedef {Object} Timeline
 * @property {string} chat
 * @property {Kind} kind
 * @property {string | null} parent
 * @property {number | null} at
 * @property {number} messages
 * @property {string | null} lorebook
 * @property {number | null} entries
 * @property {boolean} isolated
 * @property {string} record
 * @property {{current_version: number | null, versions: {version: number, scene_count: number | null, new_scene_index: number | null, timestamp: number | null}[]}} running_recap
 * @property {{message: number, name: string, ready: boolean, codes: string[]}[]} scene_breaks
 * @property {string[]} children
 */

/** @typedef {{chat: string, kind: Kind, ok: boolean, findings: Finding[], facts: Record<string, string>}} Verified */
/** @typedef {{id: string, type: string, status: string, target: string}} Queued */
/** @typedef {{chat: string, lorebook: string | null, idle: boolean, operations: Queued[], operation: string | null}} Queue */
/** @typedef {{repair: string, does: string, plan: PlannedChange[]}} RepairOffered */
/** @typedef {{chat: string, finding: Finding, repairs: RepairOffered[], applied: string | null, operation: string | null, pending: string[]}} Repairs */
/** @typedef {{code: string, kind: string, message: string, action: string, findings: Finding[]}} ErrorTold */
/** @typedef {{chat: string, parent: string | null, lorebook: string | null, entries: number, outcome: string, warnings: Finding[], left_out_entries: string[], operation: string | null, plan: PlannedChange[]}} IsolatedFork */
/** @typedef {{chat: string, error: ErrorTold}} RefusedFork */
/** @typedef {{forks: IsolatedFork[], refused: RefusedFork[]}} IsolatedAll */
/** @typedef {{job: string, command: string, chat: string | null, done: number, total: number, ended: boolean}} WishedJob one that goes on without its page */
/** @typedef {{chat: string, confidence: string, because: string}} Producer */
/** @typedef {{uid: unknown, comment: string, produced_by: Producer[], goes_to: string[]}} EntryOrigin */
/** @typedef {{story: string, book: string, timelines: Timeline[], total: number, apart: number, start: number, entries: EntryOrigin[]}} Contamination some entries of the report; first those that not every timeline keeps */
/** @typedef {{id: string, number: number | null, follows: string | null, request: string | null, kind: string, chat: string, when: string, undone: boolean, undoes: string | null}} Operation in the log, newest first: the number tells the order, not the clock */
/** @typedef {{item: string, path: string | null, when: string, size: number, operation: string | null}} TrashItem */
/** @typedef {{books: {name: string, size: number, age_days: number, from: string}[], map_entries: {chat: string, fork: string, book: string}[], kept_because: string[], operation: string | null}} Cleanup */
/** @typedef {{ok: boolean, findings: Finding[], fixed: {code: string, where?: string, chat?: string, path?: string, repair: string, operation: string | null}[]}} Examined */

/**
 * @typedef {Object} Settings
 * @property {"standard" | "strict"} policy
 * @property {Record<string, string>} requirements
 * @property {{checkpoint: string, branch: string}} names
 * @property {string[]} shared_books
 * @property {{code: string, standard: string, strict: string, fixed: boolean}[]} rows
 * @property {string[]} books
 * @property {string | null} operation
 */

export {};
