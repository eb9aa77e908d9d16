// HTML document of the chat view, with a policy that allows only its own files.

export interface PageFiles {
  readonly build: string;
  /** Addresses that the webview can load. */
  readonly script: string;
  readonly sheet: string;
  /** Source of the webview's own files, for the content security policy. */
  readonly source: string;
  readonly nonce: string;
  /** The folder that new sessions work in. */
  readonly workspace: string;
  /** The session that was in front last; empty if there was none. */
  readonly session: string;
  readonly showThinking: boolean;
}

export function chatDocument(page: PageFiles): string {
  const { build, script, sheet, source, nonce, workspace, session, showThinking } = page;
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source} 'nonce-${nonce}'`,
    `font-src ${source}`,
    `img-src ${source} data: blob:`,
    "form-action 'none'",
    "base-uri 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="portico-build" content="${build}" />
    <meta name="portico-workspace" content="${escapeHtml(workspace)}" />
    <meta name="portico-session" content="${escapeHtml(session)}" />
    <meta name="portico-show-thinking" content="${showThinking ? "yes" : "no"}" />
    <title>Portico</title>
    <link rel="stylesheet" href="${sheet}" nonce="${nonce}" />
    <script type="module" src="${script}" nonce="${nonce}"></script>
  </head>
  <body>
    <div id="portico"></div>
  </body>
</html>
`;
}

/** A folder may be called anything. */
function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
