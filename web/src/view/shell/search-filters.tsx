// Filters of the search over all messages: agent, folder, time and file.

import { useSignal } from "@preact/signals";
import type { MessageFilters, MessageSearch } from "../../model/message-search";
import { adoptStyles } from "../late-styles";
import type { AppModel } from "./app-model";

const CSS = `
.p-filters { display: grid; gap: 6px; grid-template-columns: 1fr 1fr; padding: 0 8px 8px; }
.p-filters .p-field { min-width: 0; width: 100%; box-sizing: border-box; }
.p-filters-button { margin: 0 8px 8px; }
`;
const DAYS: Readonly<Record<string, number>> = { "Past day": 1, "Past week": 7, "Past month": 30 };

interface SearchFiltersProps {
  readonly app: AppModel;
  readonly search: MessageSearch;
}

export function SearchFilters({ app, search }: SearchFiltersProps) {
  adoptStyles(CSS);
  const open = useSignal(false);
  const filters = search.filters.value;
  const count = Object.values(filters).filter((value) => value !== "" && value !== 0).length;
  const set = (change: Partial<MessageFilters>): void => {
    search.filters.value = { ...search.filters.peek(), ...change };
  };
  const known = [...app.known.value.values()];
  const agents = unique([...app.agents.value.map(({ name }) => name), ...known.map(({ agent }) => agent)]);
  const folders = unique(known.map(({ workspace }) => workspace));
  return (
    <>
      <button
        type="button"
        class="p-link-button p-filters-button"
        aria-expanded={open.value}
        onClick={() => (open.value = !open.peek())}
      >
        {count === 0 ? "Filter messages" : `Filter messages (${count})`}
      </button>
      {open.value && (
        <div class="p-filters" role="group" aria-label="Filters of messages">
          <Filter
            label="Agent"
            all="All agents"
            values={agents}
            value={filters.agent}
            change={(agent) => set({ agent })}
          />
          <Filter
            label="Folder"
            all="All folders"
            values={folders}
            value={filters.workspace}
            change={(workspace) => set({ workspace })}
          />
          <Filter
            label="Time"
            all="Any time"
            values={Object.keys(DAYS)}
            value={Object.keys(DAYS).find((name) => DAYS[name] === filters.days) ?? ""}
            change={(name) => set({ days: DAYS[name] ?? 0 })}
          />
          <input
            class="p-field"
            type="text"
            aria-label="File that a tool touched"
            placeholder="File"
            value={filters.path}
            onInput={({ currentTarget }) => set({ path: currentTarget.value.trim() })}
          />
        </div>
      )}
    </>
  );
}

interface FilterProps {
  readonly label: string;
  readonly all: string;
  readonly values: readonly string[];
  readonly value: string;
  readonly change: (value: string) => void;
}

function Filter({ label, all, values, value, change }: FilterProps) {
  return (
    <select
      class="p-field p-select"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    >
      <option value="">{all}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}
