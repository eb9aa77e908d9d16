// Answers a test over HTTP on loopback: which models there are, and what one of them answers. Where it listens is
// written to the file that CONSUMER_FILE names.

const { writeFileSync, renameSync } = require("node:fs");
const { createServer } = require("node:http");
const vscode = require("vscode");

exports.activate = (context) => {
  const file = process.env.CONSUMER_FILE;
  if (file === undefined) return;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const send = (line) => response.write(`${JSON.stringify(line)}\n`);
    try {
      const act = { "/models": models, "/ask": ask }[request.url];
      await act(JSON.parse(body), send, (left) => response.on("close", left));
    } catch (error) {
      send({ failed: String(error) });
    }
    response.end();
  });
  server.listen(0, "127.0.0.1", () => {
    writeFileSync(`${file}.new`, String(server.address().port));
    renameSync(`${file}.new`, file);
  });
  context.subscriptions.push(
    new vscode.Disposable(() => server.close()),
    vscode.lm.registerTool("consumer_join", {
      invoke: ({ input }) =>
        new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(input.words.join("-"))]),
    }),
  );
};

async function models(_, send) {
  for (const { id, name, family, vendor } of await vscode.lm.selectChatModels({ vendor: "portico" }))
    send({ id, name, family, vendor });
}

/** Cancelled when the test hangs up. */
async function ask({ model: id, messages, tools }, send, onLeave) {
  const [model] = await vscode.lm.selectChatModels({ vendor: "portico", id });
  const cancel = new vscode.CancellationTokenSource();
  onLeave(() => cancel.cancel());
  const answer = await model.sendRequest(messages.map(messageOf), { tools }, cancel.token);
  for await (const part of answer.stream) {
    if (part instanceof vscode.LanguageModelTextPart) send({ text: part.value });
    else if (part instanceof vscode.LanguageModelToolCallPart)
      send({ call: { callId: part.callId, name: part.name, input: part.input } });
    else send({ thinking: part.value });
  }
}

function messageOf({ role, parts }) {
  return role === "assistant"
    ? vscode.LanguageModelChatMessage.Assistant(parts.map(partOf))
    : vscode.LanguageModelChatMessage.User(parts.map(partOf));
}

function partOf({ text, call, result, image }) {
  if (image !== undefined)
    return vscode.LanguageModelDataPart.image(Buffer.from(image, "base64"), "image/png");
  if (call !== undefined) return new vscode.LanguageModelToolCallPart(call.callId, call.name, call.input);
  if (result === undefined) return new vscode.LanguageModelTextPart(text);
  const content = [new vscode.LanguageModelTextPart(result.text)];
  return new vscode.LanguageModelToolResultPart(result.callId, content);
}
