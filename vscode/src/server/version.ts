// Compatibility of a program with this extension. Before 1.0 every minor version may change the contract.

import { parseAnswer, runProgram, ServerError } from "./program-runner";

/** The program is there and does not fit: another one must be chosen or installed. */
export class IncompatibleVersion extends ServerError {}

export async function checkVersion(
  program: string,
  wanted: string,
  environ: NodeJS.ProcessEnv,
): Promise<string> {
  const answer = parseAnswer(await runProgram(program, ["version", "--api"], { environ }));
  if (answer?.["name"] !== "portico" || typeof answer["version"] !== "string") {
    throw new IncompatibleVersion(
      `${program} is not Portico.`,
      "Check the setting portico.program, or install Portico.",
    );
  }
  const { version } = answer as { version: string };
  if (!isCompatible(version, wanted)) {
    throw new IncompatibleVersion(
      `${program} is Portico ${version}; this extension needs ${contractOf(wanted)}.`,
      "Update the older one, choose another program, or install the one bundled with the extension.",
    );
  }
  return version;
}

export function isCompatible(version: string, wanted: string): boolean {
  return contractOf(version) === contractOf(wanted);
}

function contractOf(version: string): string {
  const [major = "0", minor = "0"] = version.split(".");
  return major === "0" ? `0.${minor}` : major;
}
