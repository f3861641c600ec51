using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "trap", worker = .trap)],
  sockets = [(name = "http", address = "127.0.0.1:8788", http = (), service = "trap")],
);

const trap :Workerd.Worker = (
  modules = [
    (name = "trap-worker.js", esModule = embed "../dist/trap-worker.js"),
    (name = "retort.core.wasm", wasm = embed "../dist/retort.core.wasm"),
  ],
  compatibilityDate = "2026-01-01",
);
