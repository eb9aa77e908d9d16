// Finds the portico program: the one that a person names, else the one on the PATH.

import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";

export interface Search {
  /** What the settings name; empty if they name nothing. */
  readonly named: string;
  readonly path: string;
  readonly platform: NodeJS.Platform;
}

export class NoProgram extends Error {}

export async function findProgram({ named, path, platform }: Search): Promise<string> {
  if (named !== "") {
    if (isAbsolute(named) && (await canRun(named))) return named;
    throw new NoProgram(
      `The setting portico.program names ${named}, which is not a program that can be run.`,
    );
  }
  const names = platform === "win32" ? ["portico.exe", "portico.cmd"] : ["portico"];
  for (const folder of path.split(delimiter)) {
    for (const name of names) {
      if (isAbsolute(folder) && (await canRun(join(folder, name)))) return join(folder, name);
    }
  }
  throw new NoProgram("Portico is not installed: there is no program portico on the PATH.");
}

async function canRun(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
