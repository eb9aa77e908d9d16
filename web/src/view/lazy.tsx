// Components that are loaded when they are first shown, so that the first paint does not wait for them.

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

/** Between two tries, in milliseconds. */
const AGAIN = 1_000;

export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const ready = useSignal(loaded !== undefined);
    useEffect(() => {
      if (loaded !== undefined) return undefined;
      let current = true;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const start = (): void => {
        load().then(
          (component) => {
            loaded = component;
            if (current) ready.value = true;
          },
          () => {
            // The server is away, which the page tells by itself.
            if (current) timer = setTimeout(start, AGAIN);
          },
        );
      };
      start();
      return () => {
        current = false;
        clearTimeout(timer);
      };
    }, []);
    const Loaded = ready.value ? loaded : undefined;
    return Loaded === undefined ? null : <Loaded {...props} />;
  };
}
