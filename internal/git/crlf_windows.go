package git

// nativeCRLF says what a line ends in where nothing says otherwise.
const nativeCRLF = true
