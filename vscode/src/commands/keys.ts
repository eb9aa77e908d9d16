// Commands about keys of models: the person names one, or picks the one to forget.

import * as vscode from "vscode";
import { forgetKey, isVariable, keepKey, keysIn } from "../keys";
import type { Parts } from "../parts";

const PROVIDERS = [
  { label: "Anthropic", variable: "ANTHROPIC_API_KEY" },
  { label: "OpenAI", variable: "OPENAI_API_KEY" },
  { label: "Google Gemini", variable: "GEMINI_API_KEY" },
  { label: "Mistral", variable: "MISTRAL_API_KEY" },
  { label: "Groq", variable: "GROQ_API_KEY" },
  { label: "OpenRouter", variable: "OPENROUTER_API_KEY" },
];

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
  await keepKey(link, secrets, variable, value.trim());
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
  await forgetKey(link, secrets, variable);
  void vscode.window.showInformationMessage(`Portico: ${variable} is forgotten.`);
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
    validateInput: (name) => (isVariable(name) ? undefined : "A name like OPENAI_API_KEY"),
  });
}
