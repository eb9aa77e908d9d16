// Makes live DOM equal to freshly rendered DOM and keeps every node that can stay, so that selection, scroll position
// and layout survive while the text grows.

export interface MorphHooks {
  /** Gives the node that goes onto the page in place of a rendered one. */
  adopt(fresh: Node): Node;
  /** Lets a live node take over what a rendered one says, or returns false if it cannot. */
  update(live: Node, fresh: Node): boolean | undefined;
}

export function morph(parent: Node, fresh: Node, adoption: MorphHooks): void {
  let live = parent.firstChild;
  let next: ChildNode | null;
  for (let node = fresh.firstChild; node !== null; node = next) {
    next = node.nextSibling;
    if (live === null) {
      parent.appendChild(adoption.adopt(node));
      continue;
    }
    const following: ChildNode | null = live.nextSibling;
    if (!(adoption.update(live, node) ?? takeOver(live, node, adoption))) {
      parent.replaceChild(adoption.adopt(node), live);
    }
    live = following;
  }
  while (live !== null) {
    const following: ChildNode | null = live.nextSibling;
    live.remove();
    live = following;
  }
}

/** Touches only what is different: a text that is set as a whole loses what is selected in it. */
export function changeText(live: Text, text: string): void {
  const { data } = live;
  if (data === text) return;
  let same = 0;
  while (same < data.length && data.charCodeAt(same) === text.charCodeAt(same)) same += 1;
  live.replaceData(same, data.length - same, text.slice(same));
}

function takeOver(live: Node, fresh: Node, adoption: MorphHooks): boolean {
  if (live instanceof Text && fresh instanceof Text) {
    changeText(live, fresh.data);
    return true;
  }
  if (live instanceof Element && fresh instanceof Element && live.tagName === fresh.tagName) {
    takeAttributes(live, fresh);
    morph(live, fresh, adoption);
    return true;
  }
  return false;
}

function takeAttributes(live: Element, fresh: Element): void {
  for (const { name } of [...live.attributes]) {
    if (!fresh.hasAttribute(name)) {
      live.removeAttribute(name);
    }
  }
  for (const { name, value } of fresh.attributes) {
    if (live.getAttribute(name) !== value) {
      live.setAttribute(name, value);
    }
  }
}
