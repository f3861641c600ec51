using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "retort", worker = .retort)],
  sockets = [(name = "http", address = "127.0.0.1:8787", http = (), service = "retort")],
);

const retort :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "dist/worker.js"),
    (name = "retort.core.wasm", wasm = embed "dist/retort.core.wasm"),
  ],
  compatibilityDate = "2026-01-01",
);
