// Whether the page is wide enough for the history next to the conversation.

import { useEffect, useState } from "preact/hooks";

const WIDE = "(min-width: 900px)";

export function useWideLayout(): boolean {
  const [wide, setWide] = useState(() => matchMedia(WIDE).matches);
  useEffect(() => {
    const query = matchMedia(WIDE);
    const follow = (): void => setWide(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return wide;
}
