// Package recent keeps the newest of many entries.
package recent

// Buffer keeps at most so many entries as it was made for.
type Buffer struct {
	entries []string
	next    int
	full    bool
}

// NewBuffer makes a buffer for size entries.
func NewBuffer(size int) *Buffer {
	return &Buffer{entries: make([]string, size)}
}

// Add keeps an entry, and drops the oldest one if the buffer is full.
func (b *Buffer) Add(entry string) {
	if len(b.entries) == 0 {
		return
	}
	b.entries[b.next] = entry
	b.next++
	if b.next == len(b.entries) {
		b.next = 0
		b.full = true
	}
}

// Entries returns a copy of the entries, the oldest first.
func (b *Buffer) Entries() []string {
	found := []string{}
	if b.full {
		found = append(found, b.entries[b.next:]...)
	}
	return append(found, b.entries[:b.next]...)
}
