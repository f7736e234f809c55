package parallel_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/croft-sh/croft/internal/parallel"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			for _, each := range []func(int, func(int)){parallel.Each, parallel.EachLong} {
				calls := make([]atomic.Int32, n)
				each(n, func(i int) { calls[i].Add(1) })
				for i := range calls {
					if got := calls[i].Load(); got != 1 {
						t.Errorf("item %d: %d calls", i, got)
					}
				}
			}
		})
	}
}
