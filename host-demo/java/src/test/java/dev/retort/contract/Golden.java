package dev.retort.contract;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The golden verdicts, read without changing a byte of reports or verdicts. */
record Golden(String name, String report, String verdict) {
  private static final String REPORT = ",\"report\":";
  private static final String VERDICT = ",\"verdict\":{\"envelope\":";

  static List<Golden> verdicts() {
    return lines("golden.jsonl").stream().map(Golden::cut).toList();
  }

  static List<String> lines(String file) {
    try {
      return Files.readAllLines(Path.of("..", "..", "tests", "corpus", file));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** The reports' own spelling must survive, so the line is cut, not parsed. */
  private static Golden cut(String line) {
    int report = line.indexOf(REPORT);
    int verdict = line.lastIndexOf(VERDICT);
    return new Golden(
        line.substring(0, report),
        line.substring(report + REPORT.length(), verdict),
        line.substring(verdict + ",\"verdict\":".length(), line.length() - 1));
  }
}
