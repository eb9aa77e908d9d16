// Objects that live as long as the extension, passed to commands and views.

import type * as vscode from "vscode";
import type { Chat } from "./chat/chat";
import type { AnswerDocuments } from "./prompts/answer-documents";
import type { ProposalDocuments } from "./review/proposal-documents";
import type { ReviewEditors } from "./review/review-editors";
import type { ServerConnection } from "./server/connection";
import type { Installer } from "./server/installer";
import type { Server } from "./server/server";
import type { CurrentSession } from "./sessions/current-session";
import type { SessionRegistry } from "./sessions/session-registry";
import type { WorkspaceFolders } from "./workspace-folders";

export interface Services {
  readonly server: Server;
  readonly connection: ServerConnection;
  readonly sessions: SessionRegistry;
  readonly current: CurrentSession;
  readonly chat: Chat;
  readonly folders: WorkspaceFolders;
  readonly installer: Installer;
  readonly secrets: vscode.SecretStorage;
  readonly log: vscode.LogOutputChannel;
  readonly answers: AnswerDocuments;
  readonly documents: ProposalDocuments;
  readonly reviews: ReviewEditors;
  /** Sessions whose end is shown by the command that started them. */
  readonly toldElsewhere: Set<string>;
}
