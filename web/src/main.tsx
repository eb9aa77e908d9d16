// Entry point of the page.

import { render } from "preact";
import { createBrowserGateway } from "./gateway/browser";
import { createWebviewGateway, type WebviewApi } from "./gateway/webview";
import { loadHighlighter } from "./markdown/highlighter";
import { whenIdle } from "./markdown/idle-queue";
import { showControlCharacters } from "./view/visible-controls";
import { App } from "./view/shell/app";
import { AppModel } from "./view/shell/app-model";
import "./style/page.css";

declare global {
  /** Only a VS Code webview has it. */
  var acquireVsCodeApi: (() => WebviewApi) | undefined;
}

const place = document.getElementById("portico");
if (place !== null) {
  showControlCharacters();
  const gateway =
    globalThis.acquireVsCodeApi === undefined
      ? createBrowserGateway()
      : createWebviewGateway(globalThis.acquireVsCodeApi());
  const app = new AppModel(gateway);
  render(<App app={app} />, place);
  void app.begin();
  whenIdle(() => {
    void loadHighlighter();
    return false;
  });
}
