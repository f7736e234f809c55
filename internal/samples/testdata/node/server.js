const http = require("node:http");
const page = require("./page");

http
  .createServer((request, response) => response.end(`${process.env.APP_TITLE}\n${page()}\n`))
  .listen(Number(process.env.PORT), "127.0.0.1");
