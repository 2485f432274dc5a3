// Drives the library of @jxa/sdef-to-dts over a folder: its own command needs Apple's `sdef`.
// Arguments: the folder of dictionaries, the folder for the results.
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");
const { transform } = createRequire(process.cwd() + "/")("@jxa/sdef-to-dts");

(async () => {
  const [, , source, target] = process.argv;
  fs.mkdirSync(target, { recursive: true });
  for (const file of fs.readdirSync(source).filter((name) => name.endsWith(".sdef"))) {
    // It makes a namespace of the name and takes letters and digits only.
    const name = path.basename(file, ".sdef").replace(/[^A-Za-z0-9]/g, "");
    const text = await transform(name, fs.readFileSync(path.join(source, file), "utf8"));
    fs.writeFileSync(path.join(target, name + ".d.ts"), text);
  }
})();
