// Runs graphile-worker: node graphile.mjs client|worker FOLDER_OF_PACKAGES CONNECTION_STRING

import { deliver, from, inPortions, oneByOne, serve } from "./talk.mjs";

const [role, folder, connectionString] = process.argv.slice(2);
const { makeWorkerUtils, run } = from(folder, "graphile-worker");
const { Pool } = from(folder, "pg");
const CONCURRENCY = 100;
// Fewer than jobs at once "may lead to non-optimal performance", it says.
const CONNECTIONS = 100;
const POLL_MS = 500;
const PORTION = 500;
const START_MS = 50_000;
const STARTING = "57P03"; // cannot_connect_now: it listens before it has recovered
const MANY = `select graphile_worker.add_job('deliver', json_build_object('url', url), run_at := due_at)
  from unnest($1::text[], $2::timestamptz[]) as jobs (url, due_at)`;

const pgPool = new Pool({ connectionString, max: CONNECTIONS });
const log = (error) => console.error(error);
pgPool.on("error", log).on("connect", (client) => client.on("error", log));
await ready();

if (role === "client") {
  const utils = await makeWorkerUtils({ pgPool });
  const one = ([url, dueAt]) => utils.addJob("deliver", { url }, { runAt: new Date(dueAt) });
  const many = (some) => pgPool.query(MANY, [some.map(([url]) => url), some.map(([, dueAt]) => new Date(dueAt))]);
  serve((jobs, together) => (together ? inPortions(many, jobs, PORTION) : oneByOne(one, jobs)));
} else {
  const taskList = { deliver: ({ url }) => deliver(url) };
  await run({ pgPool, taskList, concurrency: CONCURRENCY, pollInterval: POLL_MS, noHandleSignals: true });
  serve(() => {
    throw new Error("a worker creates nothing");
  });
}

/** Waits until the database takes statements. */
async function ready() {
  const began = performance.now();
  for (;;) {
    try {
      return await pgPool.query("select 1");
    } catch (error) {
      if (error.code !== STARTING || performance.now() - began > START_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
