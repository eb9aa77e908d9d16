// Keys of models: kept by VS Code, given to the server as its environment or while it runs, and shown to nobody.

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

/** By the variables that agents find them in. */
type Keys = Readonly<Record<string, string>>;

export async function connectModel({ link, secrets }: Parts): Promise<void> {
  const variable = await chooseVariable();
  if (variable === undefined) return;
  const value = await vscode.window.showInputBox({
    title: `Connect a Model: ${variable}`,
    prompt: "The key. VS Code keeps it, and shows it to nobody.",
    password: true,
    ignoreFocusOut: true,
    validateInput: (key) => (key.trim() === "" ? "The key is empty" : undefined),
  });
  if (value === undefined) return;
  const key = value.trim();
  await link.call((client) => client.setSecret({ name: variable, value: key }));
  await keep(secrets, { ...(await keysIn(secrets)), [variable]: key });
  void vscode.window.showInformationMessage(`Portico: agents that start from now on have ${variable}.`);
}

export async function disconnectModel({ link, secrets }: Parts): Promise<void> {
  const keys = await keysIn(secrets);
  if (Object.keys(keys).length === 0) {
    void vscode.window.showInformationMessage("Portico: VS Code keeps no key of a model.");
    return;
  }
  const variable = await vscode.window.showQuickPick(Object.keys(keys), {
    title: "Disconnect a Model",
    placeHolder: "The key to forget",
  });
  if (variable === undefined) return;
  await link.call((client) => client.setSecret({ name: variable, value: "" }));
  await keep(secrets, Object.fromEntries(Object.entries(keys).filter(([name]) => name !== variable)));
  void vscode.window.showInformationMessage(`Portico: ${variable} is forgotten.`);
}

/** Gives a server that has just been found what is kept here. */
export async function giveKeys(link: Link, secrets: vscode.SecretStorage): Promise<void> {
  for (const [name, value] of Object.entries(await keysIn(secrets)))
    await link.call((client) => client.setSecret({ name, value }));
}

export async function keysIn(secrets: vscode.SecretStorage): Promise<Keys> {
  try {
    const kept: unknown = JSON.parse((await secrets.get(STORE)) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Keys) : {};
  } catch {
    return {};
  }
}

async function keep(secrets: vscode.SecretStorage, keys: Keys): Promise<void> {
  await secrets.store(STORE, JSON.stringify(keys));
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
