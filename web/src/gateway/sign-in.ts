// Exchanges the token in the address bar, which is cleared at once, for a cookie that no script can read.

export interface SignInBrowser {
  readonly location: Pick<Location, "hash" | "pathname" | "search">;
  readonly history: Pick<History, "replaceState">;
  readonly fetch: typeof fetch;
}

export class SignIn {
  readonly #browser: SignInBrowser;
  #token: string | undefined;
  #exchange: Promise<void> | undefined;

  constructor(place: SignInBrowser) {
    this.#browser = place;
  }

  /** Takes a token that stands in the address. */
  takeToken(): void {
    const { location, history } = this.#browser;
    const fragment = new URLSearchParams(location.hash.slice(1));
    const token = fragment.get("token");
    if (token === null) return;
    fragment.delete("token");
    const rest = fragment.size > 0 ? `#${fragment.toString()}` : "";
    history.replaceState(null, "", `${location.pathname}${location.search}${rest}`);
    this.#token = token;
  }

  /**
   * Resolves once there is nothing left to exchange. A server that is away gets the token with a
   * later call; one that refuses it will refuse the call as well, and that is what the person sees.
   */
  async ready(): Promise<void> {
    if (this.#token === undefined) return;
    this.#exchange ??= this.#give(this.#token).finally(() => (this.#exchange = undefined));
    await this.#exchange;
  }

  async #give(token: string): Promise<void> {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await this.#browser.fetch("/auth", {
      method: "POST",
      headers,
      credentials: "same-origin",
    });
    if (answer.status >= 500) throw new TypeError(`the server answered with ${answer.status}`);
    if (this.#token === token) this.#token = undefined;
  }
}
