const assert = require("node:assert");
const fs = require("node:fs");
const page = require("./page");

assert.match(page(), /^HELLO .+!$/);
assert.ok(require.resolve("greet").startsWith(__dirname), "a package of another checkout");
assert.match(fs.readFileSync(".env", "utf8"), /^TOKEN=secret$/m);
assert.ok(Number(process.env.PORT) > 0 && process.env.PORT === process.env.PORT_WEB);
console.log("tests passed");
