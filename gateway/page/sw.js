// The page without a network: its own files are cached, whole and of one version, and nothing else is.
// Before this the gateway writes `const VERSION = "…"; const FILES = ["/", …];`, so that a change of any file is one.

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(VERSION)
      .then((cache) => cache.addAll(FILES.map((file) => new Request(file, { cache: "no-cache" }))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((cached) => Promise.all(cached.filter((name) => name !== VERSION).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== location.origin || !FILES.includes(pathname)) return;
  event.respondWith(reply(event, pathname));
});

/** The operator's view, which is never cached, imports scripts of the page: those come from where it came from. */
async function reply({ request, clientId }, pathname) {
  const client = clientId && (await self.clients.get(clientId));
  const cached = await (await caches.open(VERSION)).match(pathname);
  if (client && new URL(client.url).pathname.startsWith("/operator")) return fetch(request).catch(() => cached);
  return cached ?? fetch(request);
}
