// Finds the session of a conversation. VS Code sends the whole conversation with every request and no id, so the
// messages are the key.

const MOST_KEPT = 100;

export interface ChatMessage {
  readonly isAgent: boolean;
  readonly text: string;
}

export class ConversationSessions {
  readonly #sessions = new Map<string, string>();

  /** The session that has heard all of this and nothing else. */
  find(agent: string, said: readonly ChatMessage[]): string | undefined {
    return this.#sessions.get(keyOf(agent, said));
  }

  keep(agent: string, said: readonly ChatMessage[], sessionId: string): void {
    this.#sessions.set(keyOf(agent, said), sessionId);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MOST_KEPT && oldest !== undefined) this.#sessions.delete(oldest);
  }
}

/** The earlier messages, and the new text. */
export function splitPrompt(said: readonly ChatMessage[]): {
  readonly before: readonly ChatMessage[];
  readonly prompt: string;
} {
  const start = said.findLastIndex(({ isAgent }) => isAgent) + 1;
  const words = said.slice(start).map(({ text }) => text.trim());
  return { before: said.slice(0, start), prompt: words.filter((text) => text !== "").join("\n\n") };
}

/** For an agent that has heard nothing of it. */
export function withHistory(before: readonly ChatMessage[], prompt: string): string {
  if (before.length === 0) return prompt;
  const lines = before.map(({ isAgent, text }) => `${isAgent ? "You" : "I"} said:\n${text.trim()}`);
  return `Conversation so far:\n\n${lines.join("\n\n")}\n\nNow:\n\n${prompt}`;
}

function keyOf(agent: string, said: readonly ChatMessage[]): string {
  return JSON.stringify([agent, ...said.map(({ isAgent, text }) => [isAgent, text.trim()])]);
}
