// A client on the TypeScript SDK: FOLDER (of its node_modules), then the server's command.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, command, ...args] = process.argv.slice(2);
const { resolve } = createRequire(pathToFileURL(`${folder}/`));
const load = (name) => import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/client/${name}.js`)));
const { Client } = await load("index");
const { StdioClientTransport } = await load("stdio");

const client = new Client({ name: "typescript", version: "1" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
// With an output schema the client checks the structured content against it.
const name = "mail_count";
const called = await client.callTool({ name, arguments: { element: "mailbox" } });
const refused = await client.callTool({ name, arguments: { element: "nothing" } });
let unknown;
try {
  await client.callTool({ name: "mail_nothing", arguments: {} });
} catch (error) {
  unknown = error.code;
}
console.log(
  JSON.stringify({
    server: client.getServerVersion().name,
    tools: tools.map((tool) => tool.name),
    called,
    refused,
    unknown,
  }),
);
await client.close();
