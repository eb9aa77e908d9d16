// Checkbox of a hunk or a file.

import { useLayoutEffect, useRef } from "preact/hooks";

interface ChoiceBoxProps {
  readonly label: string;
  /** All of it, none of it, or some. */
  readonly chosen: boolean | "some";
  readonly disabled?: boolean;
  /** The reader comes here by key. */
  readonly isStop?: boolean;
  readonly onChoose: (chosen: boolean) => void;
}

export function ChoiceBox({ label, chosen, disabled = false, isStop = false, onChoose }: ChoiceBoxProps) {
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (box.current !== null) box.current.indeterminate = chosen === "some";
  }, [chosen]);
  return (
    <input
      ref={box}
      type="checkbox"
      class="p-choice-box"
      aria-label={label}
      title={label}
      checked={chosen === true}
      disabled={disabled}
      data-stop={isStop ? "" : undefined}
      onChange={(event) => onChoose(event.currentTarget.checked)}
    />
  );
}
