package croft

import "fmt"

// The signals of which Ending knows more than their numbers, as they are on Linux.
var signalNames = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1",
	11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}

// Ending says in words how the run ended, with a verb and without the name of the program: "failed with status 3",
// "crashed with SIGSEGV". Of a run that goes on it is empty.
func (r *Run) Ending() string {
	switch {
	case r.How == RunDone:
		return "ended"
	case r.How == RunFailed:
		return fmt.Sprintf("failed with status %d", r.Status)
	case r.How == RunLost:
		return "is gone, and nobody knows how it ended"
	case r.How != RunKilled:
		return ""
	case !r.StoppedAt.IsZero():
		return "was stopped by croft stop"
	}
	number := r.Status - 128
	name := signalNames[number]
	switch {
	case number <= 0 || number > 64:
		return "was stopped"
	case name == "":
		return fmt.Sprintf("was killed by signal %d", number)
	}
	switch name {
	case "SIGINT":
		return "was interrupted by ctrl-c"
	case "SIGHUP":
		return "ended with its terminal (SIGHUP)"
	case "SIGTERM":
		return "was asked to end by SIGTERM"
	case "SIGKILL":
		return "was killed by SIGKILL, not by Croft: out of memory?"
	case "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS":
		return "crashed with " + name
	}
	return "was killed by " + name
}
