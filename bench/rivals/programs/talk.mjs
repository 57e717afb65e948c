// The protocol of `talk.py`, for programs that run in Node.

import { createInterface } from "node:readline";
import { createRequire } from "node:module";

// Standard output is for answers, whatever a package logs.
console.log = console.info = console.debug = console.error;

const IN_FLIGHT = 8;
const TIMEOUT_MS = 15_000;

/** Loads a package from the folder into which it was installed. */
export const from = (folder, name) => createRequire(`${folder}/`)(name);

/** Says that the program is ready; creates what is asked for, until standard input ends. */
export function serve(create) {
  const lines = createInterface({ input: process.stdin });
  let before = Promise.resolve();
  lines.on("line", (line) => {
    before = before.then(async () => {
      const { jobs, together } = JSON.parse(line);
      const began = performance.now();
      await create(jobs, together);
      say({ seconds: (performance.now() - began) / 1000 });
    });
  });
  lines.on("close", () => process.exit(0));
  say({ ready: true });
}

/** Creates each job by a call of its own, some of them at once. */
export async function oneByOne(create, jobs) {
  let next = 0;
  const hand = async () => {
    while (next < jobs.length) await create(jobs[next++]);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, hand));
}

/** Creates jobs in portions, one after the other. */
export async function inPortions(create, jobs, size) {
  for (let first = 0; first < jobs.length; first += size) await create(jobs.slice(first, first + size));
}

/** Does the work of a job: posts to its url. */
export async function deliver(url) {
  const headers = { "Content-Type": "application/json" };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await fetch(url, { method: "POST", body: '{"hello":"world"}', headers, signal });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
}

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
