// Pattern that a person edits to allow more than one request, with what the server says that it covers.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import { browserEnvironment, type Cancel, type Environment } from "../gateway/environment";
import type { PreviewRuleResponse } from "../generated/portico/v1/agent_pb";
import { failureOf, isLost } from "./call-failure";

/** After the last letter. */
const PAUSE = 150;
/** Between two tries to reach the server. */
const AGAIN = 1_000;

interface Known {
  readonly rule: string;
  readonly preview: PreviewRuleResponse | undefined;
  readonly problem: string;
}

export class RulePreview {
  readonly rule: Signal<string>;
  /** Coverage of the current rule; undefined until the server has answered. */
  readonly preview: ReadonlySignal<PreviewRuleResponse | undefined>;
  /** Reason why there is no preview of it. */
  readonly problem: ReadonlySignal<string>;
  readonly #known = signal<Known | undefined>(undefined);
  readonly #gateway: Gateway;
  readonly #request: { readonly sessionId: string; readonly requestId: string };
  readonly #environment: Environment;
  #asked = 0;
  #cancel: Cancel = () => undefined;

  constructor(
    gateway: Gateway,
    request: { readonly sessionId: string; readonly requestId: string },
    rule: string,
    environment: Environment = browserEnvironment,
  ) {
    this.#gateway = gateway;
    this.#request = request;
    this.#environment = environment;
    this.rule = signal(rule);
    const current = computed(() =>
      this.#known.value?.rule === this.rule.value ? this.#known.value : undefined,
    );
    this.preview = computed(() => current.value?.preview);
    this.problem = computed(() => current.value?.problem ?? "");
  }

  /** Asks the server after each change; the answer ends it. */
  open(): Cancel {
    const end = this.rule.subscribe(() => this.#askIn(PAUSE));
    return () => {
      end();
      this.#cancel();
      this.#asked += 1;
    };
  }

  #askIn(milliseconds: number): void {
    this.#cancel();
    const asked = ++this.#asked;
    this.#cancel = this.#environment.after(milliseconds, () => void this.#ask(asked));
  }

  async #ask(asked: number): Promise<void> {
    const rule = this.rule.peek();
    try {
      const preview = await this.#gateway.client.previewRule({ ...this.#request, rule });
      if (asked === this.#asked) this.#known.value = { rule, preview, problem: "" };
    } catch (reason) {
      if (asked !== this.#asked) return;
      this.#known.value = { rule, preview: undefined, problem: failureOf(reason).message };
      if (isLost(reason)) this.#askIn(AGAIN);
    }
  }
}
