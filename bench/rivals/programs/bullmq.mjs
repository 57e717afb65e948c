// Runs BullMQ: node bullmq.mjs client|worker FOLDER_OF_PACKAGES REDIS_PORT

import { deliver, from, inPortions, oneByOne, serve } from "./talk.mjs";

const [role, folder, port] = process.argv.slice(2);
const { Queue, Worker } = from(folder, "bullmq");
const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };
const CONCURRENCY = 100;
const PORTION = 500;

const options = (dueAt) => ({ delay: Math.max(0, dueAt - Date.now()) });

if (role === "client") {
  const queue = new Queue("bench", { connection });
  await queue.waitUntilReady();
  const one = ([url, dueAt]) => queue.add("deliver", { url }, options(dueAt));
  const many = (some) =>
    queue.addBulk(some.map(([url, dueAt]) => ({ name: "deliver", data: { url }, opts: options(dueAt) })));
  serve((jobs, together) => (together ? inPortions(many, jobs, PORTION) : oneByOne(one, jobs)));
} else {
  const worker = new Worker("bench", (job) => deliver(job.data.url), { connection, concurrency: CONCURRENCY });
  worker.on("error", (error) => console.error(error));
  await worker.waitUntilReady();
  serve(() => {
    throw new Error("a worker creates nothing");
  });
}
