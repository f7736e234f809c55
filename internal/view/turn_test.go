package view

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurn: lists are read one after the other, and none waits long for one that takes long or
// for a caller that is gone.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists turn
		end := lists.take(t.Context())
		began := time.Now()
		go func() {
			time.Sleep(patience / 2)
			end()
		}()
		next := lists.take(t.Context())
		if took := time.Since(began); took != patience/2 {
			t.Errorf("the second one waited %v for the first", took)
		}
		began = time.Now()
		lists.take(t.Context())()
		if took := time.Since(began); took != patience {
			t.Errorf("one waited %v for one that takes long", took)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		lists.take(gone)()
		if took := time.Since(began); took != 0 {
			t.Errorf("one whose caller is gone waited %v", took)
		}
		next()
		began = time.Now()
		lists.take(t.Context())()
		if took := time.Since(began); took != 0 {
			t.Errorf("a free turn was waited for %v", took)
		}
	})
}
