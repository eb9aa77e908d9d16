// Keys of models: kept by VS Code, given to the server each time it starts, and shown to nobody.

import * as vscode from "vscode";
import type { Parts } from "../parts";
import type { Link } from "../server/link";

const STORE = "portico.keys";
const PROVIDERS = [
  { label: "Anthropic", variable: "ANTHROPIC_API_KEY" },
  { label: "OpenAI", variable: "OPENAI_API_KEY" },
  { label: "Google Gemini", variable: "GEMINI_API_KEY" },
  { label: "Mistral", variable: "MISTRAL_API_KEY" },
  { label: "Groq", variable: "GROQ_API_KEY" },
  { label: "OpenRouter", variable: "OPENROUTER_API_KEY" },
];

type Keys = Readonly<Record<string, string>>;

export async function connectModel({ link, secrets }: Parts): Promise<void> {
  const variable = await chooseVariable();
  if (variable === undefined) return;
  const value = await vscode.window.showInputBox({
    title: `Connect a Model: ${variable}`,
    prompt: "The key. Leave it empty to forget the one that is kept.",
    password: true,
    ignoreFocusOut: true,
  });
  if (value === undefined) return;
  const key = value.trim();
  await link.call((client) => client.setSecret({ name: variable, value: key }));
  const others = Object.entries(await keysIn(secrets)).filter(([name]) => name !== variable);
  const kept = key === "" ? others : [...others, [variable, key]];
  await secrets.store(STORE, JSON.stringify(Object.fromEntries(kept)));
  void vscode.window.showInformationMessage(
    key === ""
      ? `Portico: ${variable} is forgotten.`
      : `Portico: agents that start from now on have ${variable}.`,
  );
}

/** Gives a server that has just been found what is kept here. */
export async function giveKeys(link: Link, secrets: vscode.SecretStorage): Promise<void> {
  for (const [name, value] of Object.entries(await keysIn(secrets)))
    await link.call((client) => client.setSecret({ name, value }));
}

async function chooseVariable(): Promise<string | undefined> {
  const items = PROVIDERS.map(({ label, variable }) => ({ label, description: variable, variable }));
  const other = { label: "Another…", description: "by the name of its variable", variable: "" };
  const picked = await vscode.window.showQuickPick([...items, other], { title: "Connect a Model" });
  if (picked === undefined || picked.variable !== "") return picked?.variable;
  return await vscode.window.showInputBox({
    title: "Connect a Model",
    prompt: "The environment variable that the agent reads its key from",
    ignoreFocusOut: true,
    validateInput: (name) =>
      /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : "A name like OPENAI_API_KEY",
  });
}

async function keysIn(secrets: vscode.SecretStorage): Promise<Keys> {
  try {
    const kept: unknown = JSON.parse((await secrets.get(STORE)) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Keys) : {};
  } catch {
    return {};
  }
}
