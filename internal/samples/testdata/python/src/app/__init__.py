def page() -> str:
    return "HELLO python!"
