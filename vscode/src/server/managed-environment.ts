// Python environment managed by the extension, created from the bundled wheel.

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram, ServerError } from "./program-runner";
import { programsIn } from "./program-search";

export interface EnvironmentOptions {
  /** Pythons to try, best first: programs by name or by path. */
  readonly pythons: readonly string[];
  readonly wheel: string;
  readonly folder: string;
  readonly platform: NodeJS.Platform;
  readonly environ: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly report: (what: string) => void;
}

const INSTALL_TIMEOUT = 15 * 60_000;
/** Variables that would make pip install elsewhere, or Python read from elsewhere. */
const STRAYS = ["PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "VIRTUAL_ENV"];
const NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))";

/** Path of the portico program in a managed environment. */
export function managedProgram(folder: string, platform: NodeJS.Platform): string {
  return programsIn(binaries(folder, platform), platform)[0] ?? "";
}

/** The wheel that came with the extension; undefined in one that was built without. */
export async function bundledWheel(folder: string): Promise<string | undefined> {
  try {
    const name = (await readdir(folder)).find((file) => file.endsWith(".whl"));
    return name === undefined ? undefined : join(folder, name);
  } catch {
    return undefined;
  }
}

/** Makes it anew. What fails or is taken back leaves nothing behind. */
export async function createEnvironment(making: EnvironmentOptions): Promise<string> {
  const { wheel, folder, platform, signal, report } = making;
  const environ = Object.fromEntries(
    Object.entries(making.environ).filter(([name]) => !STRAYS.includes(name)),
  );
  const options = { environ, signal, timeout: INSTALL_TIMEOUT };
  report("Looking for Python 3.11 or newer");
  const python = await findPython(making);
  try {
    report("Creating an environment");
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await runProgram(python, ["-m", "venv", folder], options);
    report("Installing Portico");
    const inside = join(binaries(folder, platform), platform === "win32" ? "python.exe" : "python");
    const flags = ["--disable-pip-version-check", "--no-input", "--quiet"];
    await runProgram(inside, ["-m", "pip", "install", ...flags, `${wheel}[models]`], options);
    await writeFile(join(folder, "wheel.txt"), `${wheel}\n`);
    return managedProgram(folder, platform);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function findPython({ pythons, environ, signal }: EnvironmentOptions): Promise<string> {
  for (const python of pythons) {
    try {
      await runProgram(python, ["-c", NEW_ENOUGH], { environ, signal });
      return python;
    } catch {
      signal.throwIfAborted();
    }
  }
  throw new ServerError(
    "Python 3.11 or newer was not found.",
    "Install Python, or select it in the Python extension.",
  );
}

function binaries(folder: string, platform: NodeJS.Platform): string {
  return join(folder, platform === "win32" ? "Scripts" : "bin");
}
