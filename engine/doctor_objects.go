package engine

import (
	"context"
	"errors"

	"github.com/croft-sh/croft/internal/git/object"
)

// objects looks whether the packs of the project, and what isolated workspaces
// read in place of them, are as git wrote them.
func (d *doctor) objects(ctx context.Context) error {
	damaged, err := d.r.git.VerifyObjects(ctx)
	var own []object.Damage
	for _, f := range damaged {
		if f.Store == "" {
			own = append(own, f)
			d.find(findPack, f.File, f.What+" Git cannot read some of the objects in it. Croft does not repair it: git fsck says what is missing, and another clone may have it.", nil)
		}
	}
	for _, f := range damaged {
		if f.Store == "" {
			continue
		}
		d.find(findStore, f.File, f.What+" Isolated workspaces read objects from this copy; the project is not concerned.", func() error {
			if len(own) > 0 {
				return errors.New("the project's own packs are damaged")
			}
			return d.r.git.MendStore(ctx, f)
		})
	}
	return err
}
