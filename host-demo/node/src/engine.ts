/**
 * The core module by hand: the canonical ABI of a string → string function is six steps, so no generated glue is
 * needed. An instance is dropped after a fault, after `CALLS_PER_INSTANCE` calls, and once its memory has grown.
 */

const INTERFACE = "retort:contract/json@0.1.0";

/** A text above this many bytes is refused before it reaches the module. */
export const LONGEST_TEXT = 8 * 1024 * 1024;

/** An instance whose memory has grown beyond this many bytes is not kept. */
const LARGEST_MEMORY = 8 * 1024 * 1024;

/** The most calls of one instance: a bound on whatever an instance might gather. */
const CALLS_PER_INSTANCE = 100_000;

/** The functions of the interface `json`. */
export type JsonFunction =
  | "evaluate"
  | "evaluate-many"
  | "reconcile"
  | "summarise"
  | "budget"
  | "redact"
  | "inspect"
  | "fingerprint"
  | "render"
  | "codes"
  | "version";

/** What the core module exports. */
export type Core = Readonly<Record<string, unknown>>;

/** The module failed: a trap, a text that is too long, an export that is missing. Its message holds no input. */
export class ContractFault extends Error {
  override readonly name = "ContractFault";
}

type Pointer = number;
type Run = (...range: number[]) => Pointer;
type Release = (result: Pointer) => void;
type Allocate = (old: Pointer, oldSize: number, align: number, size: number) => Pointer;

/** One instance of the core module. */
class Instance {
  readonly #core: Core;
  readonly #memory: WebAssembly.Memory;
  readonly #allocate: Allocate;
  readonly #functions = new Map<JsonFunction, readonly [Run, Release]>();
  calls = 0;

  constructor(core: Core) {
    this.#core = core;
    this.#memory = core["memory"] as WebAssembly.Memory;
    this.#allocate = core["cabi_realloc"] as Allocate;
  }

  get bytes(): number {
    return this.#memory.buffer.byteLength;
  }

  call(name: JsonFunction, text: Uint8Array | undefined, decoder: TextDecoder): string {
    this.calls += 1;
    const [run, release] = this.#function(name);
    const result = text === undefined ? run() : run(this.#lower(text), text.length);
    const [start, length] = this.#pair(result >>> 0);
    const output = decoder.decode(new Uint8Array(this.#memory.buffer, start, length));
    release(result);
    return output;
  }

  #function(name: JsonFunction): readonly [Run, Release] {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const exported = `${INTERFACE}#${name}`;
    const found = [this.#core[exported] as Run, this.#core[`cabi_post_${exported}`] as Release] as const;
    this.#functions.set(name, found);
    return found;
  }

  /** Copies bytes into the module's memory, which owns them from then on. */
  #lower(text: Uint8Array): Pointer {
    const pointer = this.#allocate(0, 0, 1, text.length) >>> 0;
    new Uint8Array(this.#memory.buffer, pointer, text.length).set(text);
    return pointer;
  }

  #pair(at: Pointer): [number, number] {
    const view = new DataView(this.#memory.buffer);
    return [view.getUint32(at, true), view.getUint32(at + 4, true)];
  }
}

/** Calls the functions of the interface `json`, one fresh instance after another. */
export class Engine {
  readonly #instantiate: () => Core;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #instance: Instance | undefined;

  /** `instantiate` makes a fresh instance of the core module and gives its exports. */
  constructor(instantiate: () => Core) {
    this.#instantiate = instantiate;
  }

  /** Bytes of memory that the present instance holds; 0 without one. */
  get bytes(): number {
    return this.#instance?.bytes ?? 0;
  }

  /**
   * One text in, one text out. Lone surrogates of `text` arrive as U+FFFD.
   *
   * @throws ContractFault whatever went wrong; the next call meets a fresh instance.
   */
  call(name: JsonFunction, text?: string): string {
    const bytes = text === undefined ? undefined : this.#encode(text);
    const instance = (this.#instance ??= this.#start());
    try {
      const output = instance.call(name, bytes, this.#decoder);
      if (instance.calls >= CALLS_PER_INSTANCE || instance.bytes > LARGEST_MEMORY) this.#instance = undefined;
      return output;
    } catch {
      this.#instance = undefined;
      throw new ContractFault(`the contract's module failed in ${name}`);
    }
  }

  #encode(text: string): Uint8Array {
    if (text.length > LONGEST_TEXT) throw new ContractFault("the text is too long for the contract's module");
    return this.#encoder.encode(text);
  }

  #start(): Instance {
    try {
      return new Instance(this.#instantiate());
    } catch {
      throw new ContractFault("the contract's module cannot be instantiated");
    }
  }
}
