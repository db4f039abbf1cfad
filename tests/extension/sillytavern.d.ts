/** SillyTavern's own modules, as loosely as they are known: they change from version to version. */

declare module '*/script.js' {
    export const eventSource: any;
    export const event_types: Record<string, string>;
    export const is_send_press: boolean;
    export const isChatSaving: boolean;
    export function getCurrentChatId(): string | undefined;
    export function saveChatConditional(): Promise<void>;
    export function reloadCurrentChat(): Promise<void>;
    export function openCharacterChat(name: string): Promise<void>;
    export const saveItemizedPrompts: undefined | ((chat: string) => Promise<void>);
}

declare module '*/bookmarks.js' {
    export function createNewBookmark(at: number, options: { forceName: string | null }): Promise<string | null>;
    export function branchChat(at: number, options: { swipeId: number | null }): Promise<string | null>;
    export function updateBookmarkDisplay(message: any, link: string): void;
}

declare module '*/group-chats.js' {
    export const selected_group: string | null;
    export const is_group_generating: boolean;
    export function openGroupChat(group: string, chat: string): Promise<void>;
    export function editGroup(id: string, immediately: boolean, reload: boolean): Promise<void>;
}

declare module '*/popup.js' {
    export const fixToastrForDialogs: undefined | (() => void);
}

declare module '*/user.js' {
    export const getCurrentUserHandle: undefined | (() => string);
}

declare module '*/world-info.js' {
    export const world_names: string[] | undefined;
    export const worldInfoCache: { delete(name: string): void };
    export function updateWorldInfoList(): Promise<void>;
}

declare const SillyTavern: { getContext(): any };
declare const toastr: Record<'info' | 'success' | 'warning' | 'error', (text: string, title: string, options: object) => any> & {
    options: { onHidden?: () => void };
};
declare const $: (selector: string) => any;
declare const jQuery: (ready: () => void) => void;
