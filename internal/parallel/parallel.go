// Package parallel spreads work on many items over the cores of the machine.
//
// Each is for many short tasks, where a goroutine for each would cost more than the task: a
// new goroutine grows its stack anew for every item, a worker does so once.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// share is how many items a worker of Each takes at a time.
const share = 8

// Each calls do for every index from 0 to n-1 and returns when all calls have returned.
// The calls run concurrently, on one worker a core, in no particular order.
func Each(n int, do func(i int)) { each(n, share, do) }

// EachLong is Each for tasks that take long, such as those that start a process or read a
// directory: a worker takes one at a time, so that no core waits for the tasks of another.
func EachLong(n int, do func(i int)) { each(n, 1, do) }

func each(n, share int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for {
			from := int(next.Add(int64(share))) - share
			if from >= n {
				return
			}
			for i := from; i < min(from+share, n); i++ {
				do(i)
			}
		}
	}
	var others sync.WaitGroup
	for range min(runtime.NumCPU(), (n+share-1)/share) - 1 { // the caller is a worker too
		others.Go(work)
	}
	work()
	others.Wait()
}
