/** The panel in SillyTavern's Extensions drawer, and the entry in its menu. */
import * as api from './api.js';
import { element, notice } from './dialogs.js';
import { changeSettings, serviceAddress, settings } from './settings.js';
import * as st from './sillytavern.js';
import { t } from './wording.js';

export function startPanel() {
    const light = element('span', 'forklore-light');
    const words = element('span', 'forklore-state');
    const address = input('text', settings().address, (value) => {
        changeSettings({ address: value });
        api.reconnect();
    });
    address.placeholder = serviceAddress();
    const password = input('password', '', () => {});
    const pair = element('div', 'menu_button forklore-pair', t('panel_pair'));
    pair.addEventListener('click', () => void pairNow(password));
    password.addEventListener('keydown', ({ key }) => key === 'Enter' && void pairNow(password));
    const policy = select(['standard', 'strict'], [t('panel_standard'), t('panel_strict')], '', (value) => {
        api.change('settings', { policy: value }).catch((error) => notice('error', problemOr(error, api.whyNot(api.connection().state))));
    });
    const notices = select(
        ['all', 'problems', 'none'],
        [t('panel_all'), t('panel_problems'), t('panel_none')],
        settings().notices,
        (value) => changeSettings({ notices: /** @type {any} */ (value) }),
    );
    const whenAway = select(['refuse', 'allow'], [t('panel_refuse'), t('panel_allow')], settings().whenAway, (value) =>
        changeSettings({ whenAway: /** @type {any} */ (value) }),
    );
    const tree = element('div', 'menu_button forklore-tree', t('tree'));
    tree.addEventListener('click', () => void openTree());

    const content = element(
        'div',
        'inline-drawer-content',
        element('div', 'forklore-connection', light, words),
        labelled(t('panel_address'), address, t('panel_address_hint')),
        labelled(t('panel_password'), password),
        element('div', 'flex-container', pair, tree),
        labelled(t('panel_policy'), policy),
        labelled(t('panel_notices'), notices),
        labelled(t('panel_away'), whenAway),
    );
    const toggle = element('div', 'inline-drawer-toggle inline-drawer-header', element('b', '', 'Forklore'));
    toggle.append(element('div', 'inline-drawer-icon fa-solid fa-circle-chevron-down down'));
    const drawer = element('div', 'forklore-panel', element('div', 'inline-drawer', toggle, content));
    drawer.id = 'forklore_panel';
    document.getElementById('extensions_settings2')?.append(drawer);

    const showState = () => {
        const { state, version, why, hasPassword } = api.connection();
        light.dataset.state = state;
        words.textContent = why || t(state === 'unpaired' && hasPassword ? 'state_password' : `state_${state}`, { version });
        policy.disabled = state !== 'connected';
        if (state === 'connected') {
            api.look('settings').then(({ policy: now }) => {
                policy.value = now;
            }, console.warn);
        }
    };
    api.on('state', showState);
    showState();
    addToMenu();
}

/** @param {unknown} error @param {string} otherwise */
const problemOr = (error, otherwise) => (error instanceof api.Problem ? api.problemText(error) : otherwise);

/** @param {HTMLInputElement} password */
async function pairNow(password) {
    try {
        if (password.value) {
            await api.pair(password.value);
            password.value = '';
        }
        api.reconnect();
    } catch (error) {
        notice('error', problemOr(error, t('away')));
    }
}

function addToMenu() {
    const entry = element('a', '', element('i', 'fa-lg fa-solid fa-diagram-project'), element('span', '', t('tree')));
    entry.id = 'forklore_option_tree';
    entry.addEventListener('click', () => void openTree());
    document.getElementById('option_back_to_main')?.after(entry);
}

/** Open the page of the service at the story of the open chat. */
export async function openTree() {
    const chat = st.openChat();
    const place = chat ? `#/story/${encodeURIComponent(chat.address)}` : '';
    const page = window.open('', '_blank');
    try {
        const { path } = await api.change('login', {});
        const url = `${serviceAddress()}${path}${place}`;
        if (page) {
            page.opener = null;
            page.location.href = url;
        }
    } catch (error) {
        page?.close();
        notice('warning', problemOr(error, api.whyNot(api.connection().state)));
    }
}

/** @param {string} text @param {HTMLElement} field @param {string} [hint] */
function labelled(text, field, hint = '') {
    const label = element('label', 'forklore-field', element('span', '', text), field);
    if (hint) {
        label.append(element('small', '', hint));
    }
    return label;
}

/** @param {string} type @param {string} value @param {(value: string) => void} changed */
function input(type, value, changed) {
    const made = /** @type {HTMLInputElement} */ (element('input', 'text_pole'));
    made.type = type;
    made.value = value;
    made.autocomplete = 'off';
    made.addEventListener('change', () => changed(made.value));
    return made;
}

/** @param {string[]} values @param {string[]} texts @param {string} value @param {(value: string) => void} changed */
function select(values, texts, value, changed) {
    const made = /** @type {HTMLSelectElement} */ (element('select', 'text_pole'));
    values.forEach((each, index) => made.append(new Option(texts[index], each)));
    made.value = value;
    made.addEventListener('change', () => changed(made.value));
    return made;
}
