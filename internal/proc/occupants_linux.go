package proc

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Occupants lists the processes whose working directory lies in dir, or that have
// a file there open for writing, as far as they can be seen. The second result says
// whether this platform can tell.
func Occupants(dir string) ([]Occupant, bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, errors.Is(err, os.ErrNotExist)
	}
	pids, err := processes()
	if err != nil {
		return nil, false
	}
	var found []Occupant
	for _, name := range pids {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		of := "/proc/" + name
		cwds := dirsOf(of)
		if len(cwds) == 0 {
			continue // it has ended, or is another user's
		}
		file := ""
		if !slices.ContainsFunc(cwds, func(cwd string) bool { return isIn(cwd, real) }) {
			if file = fileWrittenIn(of, real); file == "" {
				continue
			}
		}
		if isUnstartedFork(of, "/proc/self") {
			continue
		}
		found = append(found, Occupant{PID: pid, Name: nameOf(pid), File: file})
	}
	return found, true
}

// OccupantsOf lists the processes in each of several directories, as Occupants does, in one
// pass over all processes. The process that asks and those above it are left out, and those in
// one pipeline with it. The second result says whether this platform can tell.
func OccupantsOf(dirs []string) (map[string][]Occupant, bool) {
	found, known := occupantsOf(dirs, ancestorsOf(os.Getpid()))
	var pids []int
	for _, list := range found {
		for _, o := range list {
			pids = append(pids, o.PID)
		}
	}
	if len(pids) == 0 {
		return found, known
	}
	beside := besideOf(os.Getpid(), pids)
	for dir, list := range found {
		found[dir] = slices.DeleteFunc(list, func(o Occupant) bool { return beside[o.PID] })
	}
	return found, known
}

// AllOccupantsOf is OccupantsOf, and leaves no process out.
func AllOccupantsOf(dirs []string) (map[string][]Occupant, bool) { return occupantsOf(dirs, nil) }

func occupantsOf(dirs []string, without map[int]bool) (map[string][]Occupant, bool) {
	pids, err := processes()
	if err != nil {
		return nil, false
	}
	asked := realDirs(dirs)
	found := map[string][]Occupant{}
	for _, name := range pids {
		pid, err := strconv.Atoi(name)
		if err != nil || without[pid] {
			continue
		}
		of := "/proc/" + name
		cwds := dirsOf(of)
		if len(cwds) == 0 {
			continue // it has ended, or is another user's
		}
		in := map[string]string{} // directory to file
		for _, cwd := range cwds {
			if dir, ok := dirAbove(cwd, asked); ok {
				in[dir] = ""
			}
		}
		addWritten(of, asked, in)
		if len(in) == 0 || isUnstartedFork(of, "/proc/self") {
			continue
		}
		for dir, file := range in {
			found[dir] = append(found[dir], Occupant{PID: pid, Name: nameOf(pid), File: file})
		}
	}
	return found, true
}

// realDirs returns directories by their paths without links. Most lie beside each other, so that the path to them is
// followed once.
func realDirs(dirs []string) map[string]string {
	real, parents := map[string]string{}, map[string]string{}
	for _, dir := range dirs {
		parent := filepath.Dir(dir)
		above, known := parents[parent]
		if !known {
			above, _ = filepath.EvalSymlinks(parent) // empty: it is not there
			parents[parent] = above
		}
		info, err := os.Lstat(dir)
		switch {
		case above == "" || err != nil:
		case info.Mode()&os.ModeSymlink == 0:
			real[filepath.Join(above, filepath.Base(dir))] = dir
		default:
			if to, err := filepath.EvalSymlinks(dir); err == nil {
				real[to] = dir
			}
		}
	}
	return real
}

// maxThreads is of how many threads of a process the working directories are read.
const maxThreads = 1000

// dirsOf returns the working directories of a process: that of its first thread, which may have ended, and those of
// threads that have others. of is its directory in /proc.
func dirsOf(of string) []string {
	var dirs []string
	if cwd, err := os.Readlink(of + "/cwd"); err == nil {
		dirs = append(dirs, cwd)
	} else if errors.Is(err, os.ErrPermission) {
		return nil
	}
	var info unix.Stat_t
	const ofOne = 3 // the links of a directory with one directory in it
	if unix.Stat(of+"/task", &info) != nil || info.Nlink == ofOne && len(dirs) > 0 {
		return dirs
	}
	tasks, err := os.Open(of + "/task")
	if err != nil {
		return dirs
	}
	defer tasks.Close()
	names, _ := tasks.Readdirnames(maxThreads)
	buf := make([]byte, unix.PathMax)
	for _, tid := range names {
		n, err := unix.Readlinkat(int(tasks.Fd()), tid+"/cwd", buf)
		if err == nil && !slices.ContainsFunc(dirs, func(known string) bool { return known == string(buf[:n]) }) {
			dirs = append(dirs, string(buf[:n]))
		}
	}
	return dirs
}

// dirAbove finds the asked directory that a path is or lies in.
func dirAbove(path string, asked map[string]string) (string, bool) {
	for {
		if dir, ok := asked[path]; ok {
			return dir, true
		}
		up := filepath.Dir(path)
		if up == path {
			return "", false
		}
		path = up
	}
}

// addWritten adds the asked directories in which a process has a file open for writing.
func addWritten(of string, asked, in map[string]string) {
	names, err := os.ReadDir(of + "/fd")
	if err != nil {
		return
	}
	for _, fd := range names {
		file, err := os.Readlink(of + "/fd/" + fd.Name())
		if err != nil || !strings.HasPrefix(file, "/") {
			continue
		}
		dir, ok := dirAbove(file, asked)
		if _, known := in[dir]; ok && !known && isOpenForWriting(of+"/fdinfo/"+fd.Name()) && isNamed(of+"/fd/"+fd.Name()) {
			in[dir] = file
		}
	}
}

// ancestorsOf returns a process and those above it.
func ancestorsOf(pid int) map[int]bool {
	above := map[int]bool{}
	for pid > 1 && !above[pid] {
		above[pid] = true
		fields := statFields("/proc/" + strconv.Itoa(pid))
		if len(fields) < 2 {
			break
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			break
		}
		pid = parent
	}
	return above
}

// forkedNoExec is the kernel's flag of a process that has not begun a program of its
// own.
const forkedNoExec = 0x40

// isUnstartedFork reports whether a process was forked and has not begun a program of its
// own, but still runs that of parent. Until it begins one, it has all files open that its
// parent had. A program written in Go never goes on as a fork. child and parent are
// directories in /proc; whether one is the other's child is not compared.
func isUnstartedFork(child, parent string) bool {
	fields := statFields(child)
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	if err != nil || flags&forkedNoExec == 0 {
		return false
	}
	program, err := os.Readlink(child + "/exe")
	own, ownErr := os.Readlink(parent + "/exe")
	return err == nil && ownErr == nil && program == own
}

func nameOf(pid int) string {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(name))
}

func isIn(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// fileWrittenIn finds a file below a directory that a process has open for writing.
func fileWrittenIn(of, dir string) string {
	fds, err := os.Open(of + "/fd")
	if err != nil {
		return ""
	}
	defer fds.Close()
	names, err := fds.Readdirnames(-1)
	if err != nil {
		return ""
	}
	buf := make([]byte, unix.PathMax)
	for _, fd := range names {
		// A thousand processes have many files open: the link is read without
		// finding its directory again.
		n, err := unix.Readlinkat(int(fds.Fd()), fd, buf)
		if err != nil || n <= len(dir) || string(buf[:len(dir)]) != dir || buf[len(dir)] != '/' {
			continue
		}
		if isOpenForWriting(of+"/fdinfo/"+fd) && isNamed(of+"/fd/"+fd) {
			return string(buf[:n])
		}
	}
	return ""
}

// isOpenForWriting reads the flags that a file was opened with.
func isOpenForWriting(info string) bool {
	b, err := os.ReadFile(info)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		text, ok := strings.CutPrefix(line, "flags:")
		if !ok {
			continue
		}
		flags, err := strconv.ParseUint(strings.TrimSpace(text), 8, 64)
		return err == nil && flags&unix.O_PATH == 0 && flags&unix.O_ACCMODE != unix.O_RDONLY
	}
	return false
}

// isNamed reports whether an open file still has a name: what was deleted goes with
// the process, wherever its directory is.
func isNamed(fd string) bool {
	var st unix.Stat_t
	return unix.Stat(fd, &st) == nil && st.Nlink > 0
}
