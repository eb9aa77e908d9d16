// A row of buttons of which one is pressed.

interface ChoicesProps {
  readonly label: string;
  readonly value: string;
  readonly choices: Readonly<Record<string, string>>;
  readonly onChange: (value: string) => void;
}

export function Choices({ label, value, choices, onChange }: ChoicesProps) {
  return (
    <div class="p-board-choice" role="group" aria-label={label}>
      {Object.entries(choices).map(([one, name]) => (
        <button
          key={one}
          type="button"
          class="p-button"
          aria-pressed={one === value}
          onClick={() => onChange(one)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
