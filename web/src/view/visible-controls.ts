// Shows direction control characters by name in every component. Text of an agent may contain characters that reverse
// it, so that a user would allow something else than what they read. This hooks into rendering, so that no component
// can forget it; Markdown and terminals do it themselves.

import { Fragment, options, type VNode } from "preact";
import { withVisibleControls } from "../markdown/direction-controls";

const NAMES = ["title", "aria-label", "placeholder", "alt"];

type Properties = Record<string, unknown>;

export function showControlCharacters(): void {
  const before = options.vnode?.bind(options);
  options.vnode = (node: VNode) => {
    if (typeof node.type === "string" || node.type === Fragment) showIn(node.props);
    before?.(node);
  };
}

function showIn(properties: Properties): void {
  const { children } = properties;
  if (typeof children === "string") properties["children"] = withVisibleControls(children);
  else if (Array.isArray(children)) showInAll(children);
  for (const name of NAMES) {
    const value = properties[name];
    if (typeof value === "string") properties[name] = withVisibleControls(value);
  }
}

function showInAll(children: unknown[]): void {
  for (const [place, child] of children.entries()) {
    if (typeof child === "string") children[place] = withVisibleControls(child);
  }
}
