import type { Browser, Page } from "playwright-core";

export interface OpenedPage {
    readonly browser: Browser;
    readonly page: Page;
    /** What the page threw, what its policy forbade, and what it asked the network for. */
    readonly problems: string[];
}

export interface PageOptions {
    readonly minify?: boolean;
    readonly viewport?: { readonly width: number; readonly height: number };
    readonly colorScheme?: "light" | "dark";
}

export function openPage(entry: string, options?: PageOptions): Promise<OpenedPage>;
