// `npm start`: set-up, build, and the page on a local address.

import { buildPage } from "./build.mjs";
import { main, SetupError } from "./process.mjs";
import { serve } from "./serve.mjs";

await main(async () => {
  const wanted = process.env.PORT ?? "8471";
  if (!/^\d{1,5}$/.test(wanted) || Number(wanted) > 65535)
    throw new SetupError(`PORT=${wanted} is no port number`);
  await buildPage();
  const { url } = await serve(Number(wanted), undefined, { isolated: true });
  console.log(`\n  Relata is at ${url}   (stop with Ctrl+C)\n`);
});
