// Buttons shared by code and long blocks: icon buttons, and the one that shows the rest.

export function iconButton(icon: string, label: string, onClick: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "code-button";
  button.title = label;
  button.setAttribute("aria-label", label);
  const picture = document.createElement("span");
  picture.className = `codicon codicon-${icon}`;
  picture.setAttribute("aria-hidden", "true");
  button.append(picture);
  button.addEventListener("click", onClick);
  return button;
}

export function showAllButton(onClick: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "show-all";
  button.addEventListener("click", onClick);
  return button;
}

/** "Show all 1,234 lines", or the size where lines say nothing. */
export function showAllLabel(lines: number, characters: number, manyLines: number): string {
  if (lines > manyLines) {
    return `Show all ${lines.toLocaleString("en")} lines`;
  }
  return `Show all ${Math.ceil(characters / 1024).toLocaleString("en")} KB`;
}

export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    lines += 1;
  }
  return lines;
}
