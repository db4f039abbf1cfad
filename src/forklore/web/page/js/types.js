/**
 * The shapes that the service answers with. Written by docs/generate.py from forklore/web/schema.py:
 * change that and run `make docs`.
 * @module
 */

/** @typedef {Record<string, any>} Params what a code is about; which names there are depends on the code */
/** @typedef {{code: string, params: Params}} Fact what the page says in its own words */
/** @typedef {"main" | "checkpoint" | "branch"} Kind */
/** @typedef {"isolated" | "leaks" | "unverified"} Health */

/**
 * @typedef {Object} Finding where it was found is told by who looks at many chats; safe: mending it cannot lose anything
 * @property {string} code
 * @property {Params} params
 * @property {"error" | "warning" | "note"} severity
 * @property {string} message
 * @property {string} action
 * @property {string} details
 * @property {string[]} repairs
 * @property {string} [chat]
 * @property {string} [path]
 * @property {boolean} [safe]
 */

/**
 * @typedef {Object} StoryTimeline a timeline as its story tells it
 * @property {string} chat
 * @property {Kind} kind
 * @property {string | null} parent
 * @property {number | null} at
 * @property {number} messages
 * @property {string | null} lorebook
 * @property {boolean} isolated
 * @property {"recorded" | "legacy" | "none"} record
 */

/** @typedef {{main: string, timelines: StoryTimeline[]}} Story */
/** @typedef {{action: string, path: string}} PlannedChange */

/**
 * @typedef {Object} ErrorTold
 * @property {string} code
 * @property {Params} params
 * @property {string} kind
 * @property {string} message
 * @property {string} action
 * @property {Finding[]} findings
 */

/**
 * @typedef {Object} Clone
 * @property {string} name
 * @property {string} original
 * @property {string} role
 * @property {number} entries
 * @property {"live" | "history" | "scene-snapshot" | "anchor" | "present" | "none"} source
 */

/**
 * @typedef {Object} SettingToCopy what the settings have under an old name, copied to a new one: with other fields, without some UIDs in its lists
 * @property {string[]} path
 * @property {string} old
 * @property {string} new
 * @property {Record<string, any>} put
 * @property {string} lists
 * @property {any[]} uids
 */

/**
 * @typedef {Object} Fork
 * @property {"checkpoint" | "branch"} kind
 * @property {string} chat
 * @property {string} parent
 * @property {number} at
 * @property {number} messages
 * @property {string | null} lorebook
 * @property {string | null} original_lorebook
 * @property {number} entries
 * @property {"live" | "history" | "scene-snapshot" | "anchor" | "present" | "none"} lorebook_source
 * @property {Clone[]} lorebooks
 * @property {SettingToCopy[]} settings
 * @property {Finding[]} warnings
 * @property {Finding[]} notes
 * @property {string[]} carried_from_present
 * @property {string[]} left_out
 * @property {string} operation
 * @property {{chat: string | null, group: string | null, edits: {line: number | null, do: "put" | "drop" | "append" | "take", path: (string | number)[], text: string | null, only_if: string | null, prune: number}[]}[]} left
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
 * @property {"live" | "history" | "scene-snapshot" | "anchor" | "present" | "none"} lorebook_source
 * @property {Clone[]} lorebooks
 * @property {SettingToCopy[]} settings
 * @property {Finding[]} warnings
 * @property {Finding[]} notes
 * @property {string[]} carried_from_present
 * @property {string[]} left_out
 * @property {number[]} versions_kept
 * @property {number[]} versions_left_out
 * @property {PlannedChange[]} plan
 */

/**
 * @typedef {Object} IsolatedFork with its plan while it is not done
 * @property {string} chat
 * @property {string | null} parent
 * @property {number | null} at
 * @property {string | null} lorebook
 * @property {string | null} original_lorebook
 * @property {number} entries
 * @property {"live" | "history" | "scene-snapshot" | "anchor" | "present" | "none"} lorebook_source
 * @property {number[]} kept_versions
 * @property {number[]} removed_versions
 * @property {string | null} operation
 * @property {string} outcome
 * @property {Finding[]} warnings
 * @property {Finding[]} notes
 * @property {string[]} carried_from_present
 * @property {string[]} left_out
 * @property {string[]} left_out_entries
 * @property {PlannedChange[]} [plan]
 */

/** @typedef {{chat: string, error: ErrorTold}} RefusedFork */
/** @typedef {{forks: IsolatedFork[], refused: RefusedFork[]}} IsolatedAll */

/**
 * @typedef {Object} Proof whether something is as it was recorded, and what is not
 * @property {"as_recorded" | "edited" | "unknown"} state
 * @property {number[]} changed
 */

/**
 * @typedef {Object} Verified
 * @property {string} chat
 * @property {Kind} kind
 * @property {boolean} ok
 * @property {Finding[]} findings
 * @property {Finding[]} notes
 * @property {{messages: Proof, lorebooks: Record<string, Proof>}} facts
 * @property {SettingToCopy[]} settings
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
 * @property {"recorded" | "legacy" | "none"} record
 * @property {{current_version: number | null, versions: {version: number | null, scene_count: number | null, new_scene_index: number | null, timestamp: number | null}[]}} running_recap
 * @property {{message: number, name: string, ready: boolean, codes: string[]}[]} scene_breaks
 * @property {string[]} children
 */

/** @typedef {{chat: string, confidence: "certain" | "likely" | "possible", because: string, reason: Fact}} Producer */
/** @typedef {{uid: any, comment: string, produced_by: Producer[], goes_to: string[]}} EntryOrigin */

/**
 * @typedef {Object} Contamination some entries of the report; first those that not every timeline keeps
 * @property {string} story
 * @property {string} book
 * @property {StoryTimeline[]} timelines
 * @property {number} total
 * @property {number} apart
 * @property {number} start
 * @property {EntryOrigin[]} entries
 */

/** @typedef {{repair: string, source: string | null, does: string, plan: PlannedChange[]}} RepairOffered */

/**
 * @typedef {Object} Repairs
 * @property {string} chat
 * @property {Finding} finding
 * @property {RepairOffered[]} repairs
 * @property {string | null} applied
 * @property {string | null} operation
 * @property {string[]} pending
 * @property {Fact[]} pending_facts
 */

/**
 * @typedef {Object} Examined
 * @property {boolean} ok
 * @property {Finding[]} findings
 * @property {{code: string, where: string, repair: string, operation: string | null}[]} fixed
 */

/**
 * @typedef {Object} Cleanup
 * @property {{name: string, size: number, age_days: number, from: string, origin: Params}[]} books
 * @property {{chat: string, fork: string, book: string}[]} map_entries
 * @property {string[]} kept_because
 * @property {Fact[]} kept_facts
 * @property {string | null} operation
 */

/** @typedef {{item: string, path: string | null, when: string, size: number, operation: string | null}} TrashItem */

/**
 * @typedef {Object} Operation in the log, newest first: the number tells the order, not the clock
 * @property {string} id
 * @property {number | null} number
 * @property {string | null} follows
 * @property {string | null} request
 * @property {string} kind
 * @property {string} chat
 * @property {string} when
 * @property {boolean} undone
 * @property {string | null} undoes
 */

/**
 * @typedef {Object} Queued what it works on is an entity or a message
 * @property {string} id
 * @property {string} type
 * @property {string} status
 * @property {string} target
 * @property {string | null} entity
 * @property {number | null} message
 */

/**
 * @typedef {Object} Queue
 * @property {string} chat
 * @property {string | null} lorebook
 * @property {boolean} idle
 * @property {Queued[]} operations
 * @property {string | null} operation
 */

/**
 * @typedef {Object} Settings
 * @property {"standard" | "strict"} policy
 * @property {Record<string, string>} requirements
 * @property {{checkpoint: string, branch: string}} names
 * @property {string[]} shared_books
 * @property {{code: string, standard: "block" | "warn" | "note" | "ignore", strict: "block" | "warn" | "note" | "ignore", fixed: boolean}[]} rows
 * @property {string[]} books
 * @property {string | null} operation
 */

/**
 * @typedef {Object} WishedJob one that goes on without its page
 * @property {string} job
 * @property {string} command
 * @property {string | null} chat
 * @property {number} done
 * @property {number} total
 * @property {boolean} ended
 */

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
 * @property {"recorded" | "legacy" | "none"} record
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
 * @typedef {Object} Progress an event: one thing that is told of work while it goes on
 * @property {string} job
 * @property {{code: string, params: Params, text: string, number: number}} [step]
 * @property {{code: string, params: Params, text: string, good: boolean | null}} [note]
 * @property {number} [done]
 * @property {number} [total]
 */

export {};
