/** Holds a state and tells subscribers when it has changed. */
export function createStore(state) {
  const subscribers = new Set();
  return {
    get state() {
      return state;
    },
    /** @param {(state: object) => object} change */
    update(change) {
      const next = change(state);
      if (next === state) return;
      state = next;
      for (const subscriber of [...subscribers]) subscriber(state);
    },
    subscribe(subscriber) {
      subscribers.add(subscriber);
      return () => subscribers.delete(subscriber);
    },
  };
}
