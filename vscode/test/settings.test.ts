import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: string[] } };
  readonly contributes: {
    readonly configuration: {
      readonly properties: Readonly<Record<string, { scope?: string; markdownDescription: string }>>;
    };
  };
}

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const { capabilities, contributes } = JSON.parse(read("package.json")) as Manifest;
const settings = Object.entries(contributes.configuration.properties);

test("every setting is explained, in VS Code and in the README", () => {
  const readme = read("README.md");
  for (const [name, { markdownDescription }] of settings) {
    expect(markdownDescription.length, name).toBeGreaterThan(40);
    expect(readme).toContain(`\`${name}\``);
  }
});

test("what a setting starts, spends or allows is not for a folder to say that nobody trusts", () => {
  const ofTheMachine = settings.filter(([, { scope = "" }]) => scope.startsWith("machine"));
  expect(capabilities.untrustedWorkspaces.restrictedConfigurations.toSorted()).toEqual(
    ofTheMachine.map(([name]) => name).toSorted(),
  );
  const harmless = settings.filter(([name]) => !ofTheMachine.some(([other]) => other === name));
  expect(harmless.map(([name]) => name)).toEqual(["portico.showThinking"]);
  expect(contributes.configuration.properties["portico.bypassPermissions"]?.scope).toBe("machine");
});
