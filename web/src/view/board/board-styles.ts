// Styles of the board and of costs. They come with these views, so that the first paint does not load them.

import { adoptStyles } from "../late-styles";

const CSS = `
.p-dialog-board { height: calc(100% - 32px); max-width: 1280px; }
.p-dialog-board .p-dialog-body { box-sizing: border-box; display: flex; flex-direction: column; gap: 12px; min-height: 100%; }
.p-board-choices { display: flex; flex-wrap: wrap; gap: 8px 16px; }
.p-board-choice { display: flex; flex-wrap: wrap; gap: 4px; }
.p-board-choice .p-button[aria-pressed="true"] { background: var(--p-accent); color: var(--p-accent-text); }
.p-board { align-items: start; display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(min(240px, 100%), 1fr)); }
.p-board-group h3 { font-size: 13px; margin: 0 0 6px; }
.p-board-group h3 span { color: var(--p-text-soft); font-weight: normal; }
.p-board-group ul { display: flex; flex-direction: column; gap: 8px; list-style: none; margin: 0; padding: 0; }
.p-board-card { background: var(--p-back-raised); border: 1px solid var(--p-border); border-left: 3px solid var(--p-border-strong); border-radius: var(--p-radius); padding: 8px 10px; }
.p-board-asking .p-board-card { border-left-color: var(--p-warn); }
.p-board-working .p-board-card { border-left-color: var(--p-link); }
.p-board-to-review .p-board-card { border-left-color: var(--p-good); }
.p-board-title { background: none; border: 0; color: var(--p-text); cursor: pointer; display: block; font: inherit; font-weight: 600; max-width: 100%; overflow: hidden; padding: 0; text-align: left; text-overflow: ellipsis; white-space: nowrap; }
.p-board-title:hover { color: var(--p-link); text-decoration: underline; }
.p-board-line { display: -webkit-box; margin: 4px 0; overflow: hidden; overflow-wrap: anywhere; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.p-board-facts { color: var(--p-text-soft); font-size: 12px; overflow-wrap: anywhere; }
.p-board-actions { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 8px; }
.p-costs { border-collapse: collapse; max-width: 920px; width: 100%; }
.p-costs th { font-weight: normal; max-width: 0; overflow: hidden; padding: 3px 10px 3px 0; text-align: left; text-overflow: ellipsis; white-space: nowrap; width: 34%; }
.p-costs td { padding: 3px 0 3px 10px; text-align: right; white-space: nowrap; }
.p-costs .p-costs-bar { padding: 3px 0; width: 40%; }
.p-costs svg { display: block; height: 12px; width: 100%; }
.p-costs rect { fill: var(--p-link); }
.p-costs-over rect { fill: var(--p-bad); }
.p-costs tfoot tr > * { border-top: 1px solid var(--p-border); font-weight: 600; }
@media (max-width: 480px) { .p-costs-tokens { display: none; } }
`;

export function adoptBoardStyles(): void {
  adoptStyles(CSS);
}
