// A stock Firefox, driven by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/) over its WebSocket: as much of it as
// a smoke test needs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";

/** What keeps a fresh profile from reaching for anything beyond this machine, or opening pages of its own. */
const kPreferences = {
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.aboutwelcome.enabled": false,
  "browser.region.network.url": "",
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "browser.search.update": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.getAddons.cache.enabled": false,
  "extensions.systemAddon.update.enabled": false,
  "extensions.update.enabled": false,
  "intl.accept_languages": "en-US",
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,#remote-settings-dummy/v1",
  "toolkit.telemetry.enabled": false,
};

/** Starts Firefox with a fresh profile. Resolves to `send` (a command of the protocol), `on` (its events) and `close`. */
export async function launchFirefox(program) {
  const profile = mkdtempSync(join(tmpdir(), "relata-firefox-"));
  const lines = Object.entries(kPreferences).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(profile, "user.js"), lines.join(""));
  const argv = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
  const child = spawn(program, argv, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  const end = async () => {
    child.kill();
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const { send, on, close } = await connect(await addressOf(child));
    await send("session.new", { capabilities: {} });
    return {
      ...{ send, on },
      close: async () => {
        close();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Firefox says on standard error where it listens. */
async function addressOf({ stderr }) {
  const said = [];
  for await (const line of createInterface({ input: stderr })) {
    const listening = /^WebDriver BiDi listening on (ws:\S+)$/.exec(line);
    if (listening) {
      // Or a full pipe would stop it.
      stderr.resume();
      return `${listening[1]}/session`;
    }
    said.push(line);
  }
  throw new Error(`Firefox ended before it listened: ${said.join("\n")}`);
}

/** Commands are numbered, and answered by number; events come between. */
async function connect(address) {
  const socket = new WebSocket(address, { perMessageDeflate: false });
  const open = new Map();
  const listeners = new Map();
  let lastId = 0;
  await once(socket, "open");
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    if (message.type === "event") return listeners.get(message.method)?.(message.params);
    const waiting = open.get(message.id);
    open.delete(message.id);
    if (message.type === "success") waiting?.resolve(message.result);
    else waiting?.reject(new Error(`${waiting.method}: ${message.error}: ${message.message}`));
  });
  socket.on("close", () => {
    for (const { method, reject } of open.values()) reject(new Error(`${method}: Firefox hung up`));
  });
  return {
    send: (method, params) =>
      new Promise((resolve, reject) => {
        lastId += 1;
        open.set(lastId, { method, resolve, reject });
        socket.send(JSON.stringify({ id: lastId, method, params }));
      }),
    on: (event, listener) => listeners.set(event, listener),
    close: () => socket.close(),
  };
}
