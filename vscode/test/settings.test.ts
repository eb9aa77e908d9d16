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
/** A folder that is trusted may choose these. */
const OF_THE_PROJECT = ["portico.agent", "portico.promptDirectories", "portico.sessionVariables"];
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
  const restricted = [...ofTheMachine.map(([name]) => name), ...OF_THE_PROJECT];
  expect(capabilities.untrustedWorkspaces.restrictedConfigurations.toSorted()).toEqual(restricted.toSorted());
  const harmless = settings.filter(([name]) => !restricted.includes(name));
  expect(harmless.map(([name]) => name)).toEqual(["portico.showThinking"]);
  for (const name of ["model", "reviewMode", "maxCostUsd", "components", "sandbox"])
    expect(contributes.configuration.properties[`portico.${name}`]?.scope, name).toBe("machine");
  expect(contributes.configuration.properties["portico.bypassPermissions"]?.scope).toBe("machine");
});
