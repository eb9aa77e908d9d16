// An answer as agents write them, of any length: headings, prose, lists, tables, links and code.

const PIECES = [
  "## Step %: reading the configuration\n\n",
  "The loader looks at **three places** in order, and the *first* one that has a value wins. It never merges, because a merged value is one that nobody wrote. See [the guide](https://example.com/guide/%) or `portico settings show` for what it found in run %.\n\n",
  "1. Flags, which count for one run only\n2. The environment, for example `PORTICO_HOME`\n3. Files:\n   - the workspace's own `settings.json`\n   - the user's, in the folder of the platform\n\n",
  '```python\nfrom dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Setting%:\n    """One value, and who said so."""\n\n    name: str\n    value: object\n    owner: str = "workspace"\n\n    def describe(self) -> str:\n        # Shown by the settings command.\n        return f"{self.name} = {self.value!r} ({self.owner})"\n\n\nsettings = [Setting%("theme", "dark"), Setting%("limit", 42)]\nfor setting in settings:\n    print(setting.describe())\n```\n\n',
  "| setting | owner | default | note |\n|---|:-:|--:|---|\n| theme | user | light | follows the system |\n| limit | project | 42 | in seconds |\n| agent | project | porter | run % |\n\n",
  "> A value from an untrusted folder chooses no program. That is the whole rule, and it has no exception for convenience.\n\n",
  "- [x] read the file\n- [ ] compare with **the log**\n- [ ] write it back\n\n",
  '```typescript\nexport interface Setting<T> {\n  readonly name: string;\n  readonly value: T;\n}\n\nexport function describe<T>(setting: Setting<T>): string {\n  const text = `${setting.name} = ${JSON.stringify(setting.value)}`;\n  return text.length > 80 ? text.slice(0, 77) + "..." : text; // number %\n}\n```\n\n',
  "Two things are worth a second look. First, `settings.json` may hold comments, so a strict parser refuses it. Second, the path is resolved with its symbolic links before anything is read; a link that leaves the workspace is an error and not a value. Both are covered in https://example.com/docs/% and in the tests next to the loader.\n\n",
];

export function answer(length) {
  let text = "";
  for (let index = 0; text.length < length; index += 1) {
    text += PIECES[index % PIECES.length].replaceAll("%", String(index));
  }
  return text.slice(0, length);
}

/** What a build tool prints: colours, and a progress bar that writes over itself. */
export function terminalOutput(length) {
  let text = "";
  for (let index = 0; text.length < length; index += 1) {
    text +=
      index % 7 === 0
        ? `\x1b[2K\rbuilding [${"#".repeat(index % 40)}${".".repeat(40 - (index % 40))}] ${index % 100}%\r`
        : `\x1b[32m✓\x1b[0m tests/test_module_${index}.py::test_case \x1b[2m(${index % 90} ms)\x1b[0m \x1b[38;5;208mslow\x1b[0m\n`;
  }
  return text.slice(0, length);
}
