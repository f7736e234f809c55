package walk

// datesWrites reports whether every write changes the times of its file.
func datesWrites(int) bool { return true }
