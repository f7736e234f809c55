package scratch

const nonBlocking = 0
