package direct_test

import (
	"testing"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/checkouttest"
	"github.com/croft-sh/croft/internal/checkout/direct"
	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestCheckout(t *testing.T) {
	t.Parallel()
	checkouttest.Run(t, func(t *testing.T) checkouttest.Fixture {
		r := gittest.New(t)
		return checkouttest.Fixture{
			Checkout: direct.Checkouts{}, Spec: checkout.Spec{ID: "a", Path: r.Dir}, Repo: r, Kind: checkouttest.Shared,
		}
	})
}
