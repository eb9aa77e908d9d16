// The page that review.chromium.test.ts works in: the real page over the real model, with a server in memory.

import { render } from "preact";
import { createDraftStore } from "../src/gateway/storage";
import { ReviewMode } from "../src/generated/portico/v1/agent_pb";
import { CheckpointMoment, FileOperation } from "../src/generated/portico/v1/events_pb";
import { App } from "../src/view/shell/app";
import { AppModel } from "../src/view/shell/app-model";
import { Log } from "./events";
import { ReviewServer, type Change } from "./review-server";

const BOATS = `"""Boats of the harbour, and who sails them."""

from dataclasses import dataclass

HARBOUR = "north"


@dataclass
class Boat:
    name: str
    sails: int = 1


def fleet(names):
    boats = []
    for name in names:
        boats.append(Boat(name))
    return boats


def count(boats):
    total = 0
    for boat in boats:
        total = total + boat.sails
    return total


def greet(boat):
    print("Ahoy, " + boat.name)


def moor(boat, place):
    """Ties a boat up at a place."""
    return f"{boat.name} at {place}"


def leave(boat):
    return f"{boat.name} leaves"
`;

const BOATS_NOW = BOATS.replace(
  `    boats = []
    for name in names:
        boats.append(Boat(name))
    return boats
`,
  `    """One boat for each name, without the empty ones."""
    return [Boat(name) for name in names if name]
`,
)
  .replace(
    `    total = 0
    for boat in boats:
        total = total + boat.sails
    return total
`,
    `    return sum(boat.sails for boat in boats)
`,
  )
  .replace('return f"{boat.name} leaves"', 'return f"{boat.name} leaves {HARBOUR}"');

export const CHANGES: readonly Change[] = [
  { path: "harbour/boats.py", old: BOATS, new: BOATS_NOW },
  {
    path: "tests/test_boats.py",
    new: 'from harbour.boats import fleet\n\n\ndef test_no_boat_without_a_name():\n    assert fleet(["", "Gull"])[0].name == "Gull"\n',
  },
  {
    path: "docs/crews/captain.md",
    old: "# Captains\n\nOne for each boat.\n",
    new: "# Captains\n\nOne for each boat, two for the ferry.\n",
    mine: "One for each boat and none for the ferry.",
  },
  {
    path: "harbour/moorings.py",
    old: "PLACES = 3\n",
    new: "PLACES = 3\n",
    more: { operation: FileOperation.RENAME, oldPath: "harbour/places.py", diff: "", added: 0, removed: 0 },
  },
  { path: "logo.png", old: "", new: "", more: { operation: FileOperation.UPDATE, binary: true } },
  {
    path: "package-lock.json",
    old: "{\n}\n",
    new: `{\n${Array.from({ length: 60 }, (_, line) => `  "line ${line}": ${line},`).join("\n")}\n}\n`,
    more: { generated: true },
  },
  {
    path: ".env",
    old: "TOKEN=1\n",
    new: "TOKEN=2\n",
    more: { denied: true, warning: "Protected by the rule .env: it is never applied." },
  },
  { path: "old.txt", old: "one\ntwo\n" },
];

export class ReviewPage {
  server = new ReviewServer();
  app: AppModel | undefined;

  /** Shows a session whose turn has ended with these changes. */
  show(changes: readonly Change[] = CHANGES, mode = ReviewMode.PROPOSAL): void {
    const log = new Log().start().prompt("Mend the boats, and see to it that nobody sails without a name.");
    const moment = CheckpointMoment.BEFORE_TURN;
    log.add("checkpointCreated", { checkpointId: "c1", label: "Mend the boats", moment });
    log.text("I have made `fleet` and `count` shorter, and added a test.", "m");
    this.server = new ReviewServer(log);
    this.server.mode = mode;
    this.server.propose(changes);
    this.server.write((more) => more.end());
    this.open();
  }

  /** Opens the page anew, as a reload does. */
  open(): void {
    const base = this.server.gateway(createDraftStore(sessionStorage));
    this.app = new AppModel(this.server.reviewGateway(base));
    const root = document.getElementById("root") ?? document.body;
    render(null, root);
    render(<App app={this.app} />, root);
    void this.app.begin();
  }

  /** A file of so many lines, of which every so many-th is changed. */
  showLong(lines: number, every: number): void {
    const old = Array.from({ length: lines }, (_, line) => `    value_${line} = compute(${line}, "text")`);
    const fresh = old.map((line, index) => (index % every === 0 ? line.replace("compute", "measure") : line));
    this.show([
      { path: "long.py", old: `${old.join("\n")}\n`, new: `${fresh.join("\n")}\n` },
      { path: "new.py", new: `${fresh.join("\n")}\n` },
    ]);
  }
}

declare global {
  interface Window {
    review: ReviewPage;
  }
}

window.review = new ReviewPage();
