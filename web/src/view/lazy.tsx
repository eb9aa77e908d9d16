// Components that are loaded when they are first shown, so that the first paint does not wait for them.

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const ready = useSignal(loaded !== undefined);
    useEffect(() => {
      if (loaded !== undefined) return undefined;
      let current = true;
      load().then(
        (component) => {
          loaded = component;
          if (current) ready.value = true;
        },
        () => undefined, // The server is away, which the page tells by itself; the next time it is loaded again.
      );
      return () => {
        current = false;
      };
    }, []);
    const Loaded = ready.value ? loaded : undefined;
    return Loaded === undefined ? null : <Loaded {...props} />;
  };
}
