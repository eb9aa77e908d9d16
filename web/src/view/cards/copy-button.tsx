// Copies a text and says so for a moment.

import { useEffect, useState } from "preact/hooks";

const SAID_MS = 1_500;

interface CopyButtonProps {
    readonly label: string;
    readonly text: () => string;
}

export function CopyButton({ label, text }: CopyButtonProps) {
    const [said, setSaid] = useState("");
    useEffect(() => {
        if (said === "") return undefined;
        const timer = setTimeout(() => setSaid(""), SAID_MS);
        return () => clearTimeout(timer);
    }, [said]);
    const copy = async (): Promise<void> => {
        try {
            await navigator.clipboard.writeText(text());
            setSaid("Copied");
        } catch {
            setSaid("Could not copy");
        }
    };
    return (
        <button type="button" class="p-button" onClick={() => void copy()}>
            <i class={`codicon codicon-${said === "Copied" ? "check" : "copy"}`} aria-hidden="true" />
            <span aria-live="polite">{said === "" ? label : said}</span>
        </button>
    );
}
