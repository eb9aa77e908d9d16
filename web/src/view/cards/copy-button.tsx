// Button that copies a text and confirms it.

import { Icon, useCopy } from "../timeline/elements";

interface CopyButtonProps {
  readonly label: string;
  readonly text: () => string;
}

export function CopyButton({ label, text }: CopyButtonProps) {
  const { said, copy } = useCopy();
  return (
    <button type="button" class="p-button" onClick={() => copy(text())}>
      <Icon name={said === "Copied" ? "check" : "copy"} />
      <span aria-live="polite">{said === "" ? label : said}</span>
    </button>
  );
}
