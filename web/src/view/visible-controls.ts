// Holds for every component: words that are shown read in the order in which they are written.
// A title, a path or a command that an agent sends may carry characters that turn text round, so that a person
// would allow something else than what they read. Such characters are shown by name. It stands here, before
// anything reaches the document, so that no component can forget it; Markdown and terminals do it for themselves.

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
