// Finds the portico program: the configured one, then the one next to the Python interpreter, on the PATH, or in the
// managed environment.

import { access, constants } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";

export interface ProgramSearch {
  /** The program in the workspace settings; empty if unset or not trusted. */
  readonly workspace: string;
  /** The program in the user's settings. */
  readonly user: string;
  /** The interpreter that the Python extension uses here. */
  readonly interpreter: string;
  /** PATH as VS Code knows it: on a desktop, that of the login shell. */
  readonly path: string;
  /** The program that the extension installs for itself, whether it is there or not. */
  readonly own: string;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

export type ProgramOrigin =
  "workspace setting" | "user setting" | "Python environment" | "PATH" | "own environment";

export interface FoundProgram {
  readonly program: string;
  readonly origin: ProgramOrigin;
}

/** No portico program was found. */
export class ProgramNotFound extends Error {}

export async function findProgram(search: ProgramSearch): Promise<FoundProgram> {
  for (const origin of ["workspace setting", "user setting"] as const) {
    const named = origin === "workspace setting" ? search.workspace : search.user;
    if (named !== "") return { program: await requireProgram(named, search.home), origin };
  }
  const beside = search.interpreter === "" ? [] : programsIn(dirname(search.interpreter), search.platform);
  const onPath = search.path.split(delimiter).flatMap((folder) => programsIn(folder, search.platform));
  const places: readonly (readonly [ProgramOrigin, readonly string[]])[] = [
    ["Python environment", beside],
    ["PATH", onPath],
    ["own environment", [search.own]],
  ];
  for (const [origin, programs] of places) {
    for (const program of programs) {
      if (isAbsolute(program) && (await canRun(program))) return { program, origin };
    }
  }
  throw new ProgramNotFound("Portico is not installed: there is no portico program on the PATH.");
}

/** Path of the portico program in a folder of programs. */
export function programsIn(folder: string, platform: NodeJS.Platform): readonly string[] {
  const names = platform === "win32" ? ["portico.exe", "portico.cmd"] : ["portico"];
  return names.map((name) => join(folder, name));
}

async function requireProgram(named: string, home: string): Promise<string> {
  const program = /^~[\\/]/.test(named) ? join(home, named.slice(2)) : named;
  if (isAbsolute(program) && (await canRun(program))) return program;
  throw new ProgramNotFound(`The setting portico.program is ${named}, which is not an executable file.`);
}

async function canRun(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
