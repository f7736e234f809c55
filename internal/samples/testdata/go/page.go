package main

func page() string { return "HELLO go!" }
