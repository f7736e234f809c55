package radar

import "context"

// ScanTarget compares each head with the target, and with nothing else. It calls tell for each head as soon as that
// is known, in the order of in.Heads as far as it can be; the collision is nil if there is none. If ctx ends first,
// it fails, and tell was not called for the heads that are left.
func (s *Scanner) ScanTarget(ctx context.Context, in Input, tell func(head string, c *Collision)) error {
	heads := make([]string, 0, len(in.Heads)+1)
	isListed := make(map[string]bool, len(in.Heads))
	for _, h := range in.Heads {
		if !isListed[h] && h != in.Target {
			heads = append(heads, h)
		}
		isListed[h] = true
	}
	if isListed[in.Target] {
		tell(in.Target, nil)
	}
	l := &scan{scanner: s, all: append(heads, in.Target), target: len(heads)}
	pairs := make([]pair, len(heads))
	for i := range heads {
		pairs[i] = pair{i, l.target}
	}
	found, merges, err := l.decide(ctx, pairs)
	if err != nil {
		return err
	}
	tellPair := func(p pair) {
		if c, collides := found[p]; collides {
			tell(l.all[p.a], &c)
		} else {
			tell(l.all[p.a], nil)
		}
	}
	isMerged := make([]bool, len(heads))
	for _, p := range merges {
		isMerged[p.a] = true
	}
	for _, p := range pairs {
		if !isMerged[p.a] {
			tellPair(p)
		}
	}
	// The first parts are small: what a part has found is lost if the time ends before all of it is merged.
	for n := 1; len(merges) > 0; n = min(2*n, worthAProcess) {
		part := merges[:min(n, len(merges))]
		merges = merges[len(part):]
		if err := l.mergePairs(ctx, part, found); err != nil {
			return err
		}
		for _, p := range part {
			tellPair(p)
		}
	}
	return nil
}
