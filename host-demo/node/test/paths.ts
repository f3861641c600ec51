/** Where things are: the tests run compiled, from target/test/test/. */
import { fileURLToPath } from "node:url";

/** This package's folder. */
export const packageFolder = fileURLToPath(new URL("../../../", import.meta.url));

/** The repository's folder. */
export const repository = fileURLToPath(new URL("../../../../../", import.meta.url));
