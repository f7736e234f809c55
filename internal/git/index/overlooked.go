package index

import "path/filepath"

// Git compares whole seconds. An edit within the second in which a file was written is hidden from it if the size stays and
// somebody puts the mtime back.

// IsOverlooked reports whether git takes a file for the staged one although its stat data are others.
func (e Entry) IsOverlooked(now FileStat) bool {
	return e.Stage == 0 && !e.Hidden && isSameMode(e.Mode, now.Mode) && !isSameStat(e.stat, now.noted) && isSameInSeconds(e.stat, now.noted)
}

// Forgotten returns the entry without the stat data for which git would not read the file.
func (e Entry) Forgotten() Entry {
	clear(e.stat[:4]) // the times; the mode stays, which git needs
	e.stat[9] = 0     // the size
	return e
}

// Overlooked returns the entries of the files of a checkout that git overlooks, [Entry.Forgotten].
func (x *Index) Overlooked(top string) []Entry {
	var list []Entry
	for _, e := range x.Entries {
		now, err := Lstat(filepath.Join(top, filepath.FromSlash(e.Path)))
		if err == nil && e.IsOverlooked(now) {
			list = append(list, e.Forgotten())
		}
	}
	return list
}

// Overlooked returns the entries of the files of a checkout that git overlooks, [Entry.Forgotten].
func (f *Flat) Overlooked(top string) []Entry {
	var list []Entry
	for i := range f.Len() {
		now, err := Lstat(filepath.Join(top, filepath.FromSlash(f.Path(i))))
		if err != nil || isSameStat(f.At(i).raw.stat(), now.noted) {
			continue
		}
		if e := f.Entry(i); e.IsOverlooked(now) {
			list = append(list, e.Forgotten())
		}
	}
	return list
}
