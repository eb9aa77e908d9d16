// The page begins here.

import { render } from "preact";
import { createBrowserGateway } from "./gateway/browser";
import { keepWordsPlain } from "./view/plain-words";
import { App } from "./view/shell/app";
import { AppModel } from "./view/shell/app-model";
import "./style/page.css";

const place = document.getElementById("portico");
if (place !== null) {
  keepWordsPlain();
  const app = new AppModel(createBrowserGateway());
  render(<App app={app} />, place);
  void app.begin();
}
