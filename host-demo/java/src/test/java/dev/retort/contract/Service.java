package dev.retort.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A real server from Debian's packages: in a folder of its own, on a free port, never as root. */
record Service(Process process, Path folder, int port, String stopSignal) implements AutoCloseable {

  /** PostgreSQL with the superuser retort and no password. */
  static Service postgres() throws Exception {
    Path bin;
    try (Stream<Path> versions = Files.list(Path.of("/usr/lib/postgresql"))) {
      bin = versions.max(Comparator.comparing(Path::toString)).orElseThrow().resolve("bin");
    }
    Path folder = newFolder();
    String data = folder.resolve("data").toString();
    int port = freePort();
    run(folder, bin.resolve("initdb").toString(), "-D", data, "-U", "retort", "-A", "trust", "--no-sync");
    Process server =
        start(
            folder, bin.resolve("postgres").toString(), "-D", data, "-p", String.valueOf(port), "-c", "fsync=off", "-c",
            "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + folder);
    String ready = bin.resolve("pg_isready").toString();
    await(folder, server, ready, "-h", "127.0.0.1", "-p", String.valueOf(port), "-q");
    return new Service(server, folder, port, "INT");
  }

  /** MariaDB with the user retort, no password, and the database test. */
  static Service mariadb() throws Exception {
    Path folder = newFolder();
    String data = "--datadir=" + folder.resolve("data");
    String socket = folder.resolve("socket").toString();
    int port = freePort();
    run(
        folder, "mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal",
        "--skip-test-db");
    Process server =
        start(
            folder, "/usr/sbin/mariadbd", "--no-defaults", data, "--port=" + port, "--socket=" + socket,
            "--pid-file=" + folder.resolve("pid"), "--bind-address=127.0.0.1");
    String setup = "CREATE DATABASE test; CREATE USER retort@localhost; GRANT ALL ON *.* TO retort@localhost;";
    await(folder, server, "mariadb", "--no-defaults", "-u", "root", "-S", socket, "-e", setup);
    return new Service(server, folder, port, "TERM");
  }

  @Override
  public void close() throws IOException {
    try {
      run(folder, "kill", "-" + stopSignal, String.valueOf(process.pid()));
      process.waitFor();
    } catch (Exception error) {
      process.destroyForcibly();
    }
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    }
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  /** Servers refuse to run as root, so root lends them an account without rights. */
  private static List<String> unprivileged(String... command) {
    List<String> whole = new ArrayList<>();
    if (isRoot()) {
      whole.addAll(List.of("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"));
    }
    whole.addAll(List.of(command));
    return whole;
  }

  private static Path newFolder() throws Exception {
    Path folder = Files.createTempDirectory("retort-java-");
    if (isRoot()) {
      new ProcessBuilder("chown", "nobody:nogroup", folder.toString()).start().waitFor();
    }
    return folder;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static Process start(Path folder, String... command) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(unprivileged(command)).directory(folder.toFile());
    builder.environment().put("HOME", folder.toString());
    return builder.redirectErrorStream(true).redirectOutput(log(folder).toFile()).start();
  }

  private static void run(Path folder, String... command) throws Exception {
    int code = start(folder, command).waitFor();
    if (code != 0) {
      throw new IOException(command[0] + " ended with " + code + ":\n" + Files.readString(log(folder)));
    }
  }

  /** What the last command that was started in the folder has printed. */
  private static Path log(Path folder) {
    return folder.resolve("log");
  }

  private static void await(Path folder, Process server, String... check) throws Exception {
    for (int tries = 0; tries < 600 && server.isAlive(); tries++) {
      Process checking = new ProcessBuilder(check).redirectErrorStream(true).start();
      checking.getInputStream().readAllBytes();
      if (checking.waitFor() == 0) {
        return;
      }
      Thread.sleep(50);
    }
    throw new IOException("the server does not answer:\n" + Files.readString(log(folder)));
  }
}
