/** The golden verdicts, read without changing a byte of reports or verdicts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { repository } from "./paths.js";

/** A report and its whole verdict, as texts. */
export interface Golden {
  name: string;
  report: string;
  verdict: string;
}

/** A call of any function of the interface `json`. */
export interface GoldenCall {
  name: string;
  function: string;
  input: string;
  output: string;
}

const REPORT = ',"report":';
const VERDICT = ',"verdict":{"envelope":';

/** `{"name":…,"report":…,"verdict":…}`: the reports' own spelling must survive, so the line is cut, not parsed. */
export function goldenVerdicts(): Golden[] {
  return lines("golden.jsonl").map((line) => {
    const report = line.indexOf(REPORT);
    const verdict = line.lastIndexOf(VERDICT);
    return {
      name: JSON.parse(line.slice('{"name":'.length, report)) as string,
      report: line.slice(report + REPORT.length, verdict),
      verdict: line.slice(verdict + ',"verdict":'.length, -1),
    };
  });
}

/** The calls of the other functions. */
export function goldenCalls(): GoldenCall[] {
  return lines("golden-calls.jsonl").map((line) => JSON.parse(line) as GoldenCall);
}

/** What every host answers where the module fails; minted trace ids are zeros. */
export function goldenFaults(): GoldenCall[] {
  return lines("faults.jsonl").map((line) => JSON.parse(line) as GoldenCall);
}

function lines(file: string): string[] {
  const text = readFileSync(join(repository, "tests", "corpus", file), "utf8");
  return text.split("\n").filter((line) => line !== "");
}
