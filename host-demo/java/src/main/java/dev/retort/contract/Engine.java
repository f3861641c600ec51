package dev.retort.contract;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.Supplier;
import run.endive.runtime.ByteArrayMemory;
import run.endive.runtime.Instance;
import run.endive.runtime.Memory;
import run.endive.wasm.WasmModule;
import run.endive.wasm.types.MemoryLimits;

/**
 * Runs the functions of the core module, in as many instances as are called at the same time. Keeps the idle ones, but
 * none that trapped, served long or has grown.
 */
final class Engine {
  /** A text above this many bytes is refused before it reaches the module. */
  static final int LONGEST_TEXT = 8 << 20;

  /** An instance's memory never grows beyond this many bytes. */
  static final int MOST_MEMORY = 16 << 20;

  /** An instance whose memory has grown beyond this many bytes is not kept. */
  private static final int LARGEST_MEMORY = 8 << 20;

  /** Bounds whatever an instance might gather. */
  private static final int CALLS_PER_INSTANCE = 100_000;

  private static final String INTERFACE = "retort:contract/json@0.1.0#";
  private static final byte[] REPLACEMENT = {(byte) 0xEF, (byte) 0xBF, (byte) 0xBD};

  /** The module failed: a trap, a text that is too long, an export that is missing. Its message holds no input. */
  static final class Fault extends Exception {
    private static final long serialVersionUID = 1;

    Fault(String message) {
      super(message);
    }
  }

  private final Supplier<Instance> instantiate;
  private final BlockingQueue<Guest> idle = new ArrayBlockingQueue<>(Runtime.getRuntime().availableProcessors());

  Engine(Supplier<Instance> instantiate) {
    this.instantiate = instantiate;
  }

  /** The engine over the core module, which the build turned into bytecode. */
  static Engine ofCore() {
    return new Engine(Engine::instance);
  }

  /** A fresh instance of the core module. */
  static Instance instance() {
    WasmModule module = Core.load();
    int pages = module.memorySection().orElseThrow().getMemory(0).limits().initialPages();
    return Instance.builder(module)
        .withMachineFactory(Core::create)
        .withMemoryFactory(ByteArrayMemory::new)
        .withMemoryLimits(new MemoryLimits(pages, MOST_MEMORY / Memory.PAGE_SIZE))
        .build();
  }

  /** How many instances wait for the next call. */
  int idle() {
    return idle.size();
  }

  /**
   * One text in, one text out. Lone surrogates arrive as U+FFFD.
   *
   * @throws Fault whatever went wrong; the next call meets another instance
   */
  String call(Function function, String text) throws Fault {
    byte[] input = function.takesText() ? utf8(text) : null;
    if (input != null && input.length > LONGEST_TEXT) {
      throw new Fault("the text is too long for the contract's module");
    }
    try {
      Guest guest = idle.poll();
      guest = guest == null ? new Guest(instantiate.get()) : guest;
      String output = guest.call(function.word, input);
      if (guest.calls < CALLS_PER_INSTANCE && guest.bytes() <= LARGEST_MEMORY) {
        idle.offer(guest);
      }
      return output;
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError | LinkageError error) {
      throw new Fault("the contract's module failed in " + function.word);
    }
  }

  private static byte[] utf8(String text) {
    try {
      ByteBuffer bytes =
          StandardCharsets.UTF_8
              .newEncoder()
              .onMalformedInput(CodingErrorAction.REPLACE)
              .onUnmappableCharacter(CodingErrorAction.REPLACE)
              .replaceWith(REPLACEMENT)
              .encode(CharBuffer.wrap(text));
      byte[] copied = new byte[bytes.remaining()];
      bytes.get(copied);
      return copied;
    } catch (CharacterCodingException error) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
  }

  /** One instance; one call at a time. */
  private static final class Guest {
    private final Instance instance;
    private int calls;

    Guest(Instance instance) {
      this.instance = instance;
    }

    int bytes() {
      return Memory.bytes(instance.memory().pages());
    }

    /** The canonical ABI of a string → string function: allocate, write, call, read two numbers, read, release. */
    String call(String name, byte[] input) {
      calls++;
      Memory memory = instance.memory();
      var run = instance.export(INTERFACE + name);
      long result;
      if (input == null) {
        result = run.apply()[0];
      } else {
        long pointer = instance.export("cabi_realloc").apply(0, 0, 1, input.length)[0];
        memory.write((int) pointer, input, 0, input.length);
        result = run.apply(pointer, input.length)[0];
      }
      int at = (int) result;
      byte[] output = memory.readBytes(memory.readInt(at), memory.readInt(at + 4));
      instance.export("cabi_post_" + INTERFACE + name).apply(result);
      return new String(output, StandardCharsets.UTF_8);
    }
  }
}
