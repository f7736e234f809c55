package proc

import "golang.org/x/sys/windows"

// LowerPriority gives this process less of the machine than others. That it cannot
// is no failure.
func LowerPriority() {
	_ = windows.SetPriorityClass(windows.CurrentProcess(), windows.PROCESS_MODE_BACKGROUND_BEGIN)
}
