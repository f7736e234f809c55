const greet = require("greet");

module.exports = () => greet("node");
